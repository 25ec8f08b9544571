-- The life of a script's users. One state serves many users: each is a coroutine with globals of
-- its own, in which the script runs. What waits yields a request, and is resumed with the answer.
--
-- A user of oltp_read_only costs some 20 KB: its globals, options, statements and its stack. The
-- code, and the machine code that LuaJIT makes of it, exists once for each state.
local native, settings = ...
-- The numbers of requests; `sql.lua` has the others.
local PAUSE, READY, DONE, LAST, RESTART, FAIL = 7, 8, 9, 10, 11, 12
local ffi = require("ffi")
local setfenv, setmetatable, tostring, type, xpcall = setfenv, setmetatable, tostring, type, xpcall
local traceback = debug.traceback

local yield = native.ask or coroutine.yield
local can_yield = native.ask and function() return true end or coroutine.isyieldable
-- The user that runs.
local current
-- Why a request could not be made. A script may catch the error, so it is told with the next one.
local stuck

local function suspend(...)
  if not can_yield() then
    stuck = traceback("cannot suspend: the script waits where it must not be interrupted", 2)
    error(stuck, 0)
  end
  return yield(...)
end

local function resumed(user, ...)
  current, user.failed = user, false
  return ...
end

-- Makes a request of the current user. Returns true and results, or false and what failed.
local function ask(...)
  if stuck then yield(FAIL, 0, stuck) end
  return resumed(current, suspend(...))
end

local function pause(seconds)
  ask(PAUSE, tonumber(seconds))
  return 0
end

-- A request in a coroutine of the script's own goes out through the coroutines around it. Its own
-- yields are marked, because requests are more frequent.
if not native.ask then
  local OWN = {}
  local resume, status = coroutine.resume, coroutine.status

  local function passed(co, ok, first, ...)
    if not ok or status(co) == "dead" then return ok, first, ... end
    if first == OWN then return true, ... end
    return passed(co, resume(co, suspend(first, ...)))
  end

  local function unwrapped(ok, ...)
    if not ok then error((...), 0) end
    return ...
  end

  function coroutine.yield(...) return yield(OWN, ...) end
  function coroutine.resume(co, ...) return passed(co, resume(co, ...)) end
  function coroutine.wrap(f)
    local co = coroutine.create(f)
    return function(...) return unwrapped(coroutine.resume(co, ...)) end
  end
end

function print(...)
  local texts = {...}
  for i = 1, select("#", ...) do texts[i] = tostring(texts[i]) end
  native.print(table.concat(texts, "\t") .. "\n")
end

local write = io.write
function io.write(...)
  if io.output() ~= io.stdout then return write(...) end
  native.print(table.concat({...}))
  return true
end

-- Compiles a text once for all users: returns a function that makes closures of the same code.
local function factory(text, name)
  text = text:gsub("^#", "--#")
  local chunk, why = loadstring(text, name)
  -- A text that was compiled before can only be loaded.
  return chunk and (loadstring("return function(...) " .. text .. "\nend", name)
    or function() return loadstring(text, name) end), why
end

local factories = {}
function loadfile(path)
  local why
  if not factories[path] then
    local file, missing = io.open(path, "rb")
    if not file then return nil, "cannot open " .. missing end
    factories[path], why = factory(file:read("*a"), "@" .. path)
    file:close()
    if why then return nil, why end
  end
  return setfenv(factories[path](), current.env)
end

function dofile(path) return assert(loadfile(path))() end

local standard_require = require
function require(name)
  local loaded = current.loaded
  local module = loaded[name] or current.sysbench[name:match("^sysbench%.(.+)")]
  if module ~= nil then return module end
  local path = package.searchpath(name, current.env.package.path)
  if path then
    module = assert(loadfile(path))(name)
  else
    module = standard_require(name)
  end
  if module == nil then module = loaded[name] or true end
  loaded[name] = module
  return module
end

local function event_stop()
  local user, _ = current, nil
  user.runs = nil
  _, user.wanted = ask(DONE)
end

local function more_events()
  -- A script need not say when an event ends.
  if current.runs then event_stop() end
  current.runs = current.wanted
  return current.wanted or false
end

-- Calls into the program itself are ours, and so are libc's pauses, which would hold up all users.
local C = {
  sb_more_events = more_events,
  sb_event_start = function() end,
  sb_event_stop = event_stop,
  sb_counter_inc = function(_, kind)
    native.count(tonumber(type(kind) == "string" and ffi.C[kind] or kind))
  end,
  sb_print_test_options = function() native.print(settings.help) end,
  usleep = function(us) return pause(tonumber(us) / 1e6) end,
  sleep = pause,
  nanosleep = function(length)
    return pause(tonumber(length.tv_sec) + tonumber(length.tv_nsec) / 1e9)
  end,
}
ffi.cdef[[
typedef enum {
  SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_TRX, SB_CNT_ERROR, SB_CNT_RECONNECT,
  SB_CNT_MAX, SB_CNT_EVENT = SB_CNT_TRX
} sb_counter_type;
]]
local proxy, cdefs = setmetatable({C = setmetatable(C, {__index = ffi.C})}, {__index = ffi}), {}
function proxy.cdef(text, ...)
  -- Each user of the state declares the same.
  if not cdefs[text] then ffi.cdef(text, ...) end
  cdefs[text] = true
end
package.loaded.ffi, _G.ffi = proxy, proxy

local cmdline = {
  argv = settings.argv, command = settings.command, script_path = settings.name,
  PARALLEL_COMMAND = true,
  print_test_options = C.sb_print_test_options, read_cmdline_options = function() return true end,
}
local sysbench = {
  version = settings.version, version_string = "sysbench " .. settings.version,
  error = {NONE = 0, RESTART_EVENT = 1}, rand = native.rand,
}
function sysbench.rand.uniform_uint64()
  local high, low = native.halves()
  return ffi.cast("uint64_t", high) * 4294967296ULL + low
end
for name, draw in pairs(sysbench.rand) do C["sb_rand_" .. name] = draw end
function C.sb_rand_str(format, buffer) ffi.copy(buffer, C.sb_rand_string(ffi.string(format))) end

local globals_of, sysbench_of = {__index = _G}, {__index = sysbench}
local package_of, loaded_of = {__index = package}, {__index = package.loaded}
local cmdline_of = {__index = cmdline}

local function new_user(tid)
  local env, own = setmetatable({}, globals_of), setmetatable({}, sysbench_of)
  local loaded = setmetatable({sysbench = own}, loaded_of)
  own.tid, own.opt, own.hooks, own.cmdline = tid, {}, {}, setmetatable({}, cmdline_of)
  env._G, env.sysbench, env.thread_id, env.test = env, own, tid, settings.name
  env.package = setmetatable({path = package.path, loaded = loaded}, package_of)
  return {env = env, sysbench = own, loaded = loaded, lost = {}}
end

local script, mistake = factory(settings.text, "@" .. settings.name)

-- Runs the top level of the script. Only then, there are options.
local function load_script(user)
  local env = user.env
  current = user
  -- Also what the script loads from strings has the user's globals.
  setfenv(0, env)
  if not script then error(mistake, 0) end
  setfenv(script(), env)()
  local is_legacy = not user.sysbench.cmdline.options
  for name, value in pairs(settings.options) do
    user.sysbench.opt[name] = value
    if is_legacy and type(env[name]) ~= "function" then env[name] = value end
  end
end

-- Handles errors: a table is thrown by a statement, anything else is a mistake with a place.
local function told(err)
  if type(err) == "table" then return err end
  err = tostring(err)
  return err:find("\nstack traceback:", 1, true) and err or traceback(err, 2)
end

local function fail(message)
  while true do yield(FAIL, 0, stuck or message) end
end

-- Calls a function of the script; an error ends the load.
local function guarded(name, f, ...)
  local ok, result = xpcall(f, told, ...)
  if ok then return result end
  local reason = type(result) == "table" and result.sql_errmsg or tostring(result)
  fail(("`%s' function failed: %s"):format(name, reason))
end

local function loaded_user(tid)
  local user = new_user(tid)
  local ok, err = pcall(load_script, user)
  if not ok then fail(tostring(err)) end
  return user
end

-- Prepares to run the event again after an error of which the settings or the script say so.
local function restart(user, err)
  if type(err) ~= "table" or err.errcode ~= sysbench.error.RESTART_EVENT then error(err, 0) end
  -- The load undoes the transaction only if the script has not gone on after the failure.
  if user.failed then ask(RESTART) end
  local hook = user.sysbench.hooks.before_restart_event
  if hook then hook(err) end
end

local function thread_run(tid)
  local user, event = current, current.env.event
  while more_events() do
    local ok, result = xpcall(event, told, tid)
    while not ok do
      restart(user, result)
      ok, result = xpcall(event, told, tid)
    end
    if result then return end
    event_stop()
  end
end

local function live(tid)
  local user = loaded_user(tid)
  local env, _ = user.env, nil
  if not env.event then
    fail(("cannot find the event() function in %s"):format(settings.name))
  end
  if env.thread_init then guarded("thread_init", env.thread_init, tid) end
  _, user.wanted = ask(READY)
  guarded("thread_run", env.thread_run or thread_run, tid)
  -- The script ends on its own account, with an event that does not count.
  if user.wanted then ask(LAST) end
  if env.thread_done then guarded("thread_done", env.thread_done, tid) end
  ask(READY)
end

-- Calls the functions and commands that it is told to, one for each transaction.
local function serve(tid)
  local user = loaded_user(tid)
  local _, name = ask(READY)
  while true do
    local entry = (user.sysbench.cmdline.commands or {})[name]
    local f = entry and entry[1] or user.env[name]
    if f and guarded(name, f) == false and entry then
      fail(("`%s' function failed"):format(name))
    end
    _, name = ask(name and LAST or READY)
  end
end

return {
  ask = ask, sysbench = sysbench, cmdline = cmdline,
  user = function() return current end,
  -- The function that is a user's life.
  life = function(tid, is_command)
    return function() return (is_command and serve or live)(tid) end
  end,
  -- Loads the script where nothing can wait.
  load = function()
    local user = new_user(0)
    load_script(user)
    return user
  end,
}
