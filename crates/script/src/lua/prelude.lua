-- The life of a script's users. One state serves many users: each is a coroutine with globals of
-- its own, in which the script runs. What waits yields a request, and is resumed with the answer.
--
-- A user costs its globals, its statements and its stack. The options, the code, and the machine
-- code that LuaJIT makes of it exist once for each state.
local core = ...
local settings = core.settings
-- The numbers of requests; `sql.lua` has the others.
local PAUSE, READY, DONE, LAST, RESTART, FAIL = 7, 8, 9, 10, 11, 12
local ffi = require("ffi")
local running, is_yieldable = coroutine.running, coroutine.isyieldable
-- A user with a thread of its own blocks it while it waits.
local is_blocking, wait = core.wait ~= nil, core.wait or coroutine.yield

-- A collection begins when a state has grown by a tenth, and ends after about another. By default,
-- a state would grow to two and a half times its size. An event leaves little behind.
collectgarbage("setpause", 110)
collectgarbage("setstepmul", 1000)

-- The user that runs, and its coroutine.
local current, current_thread
-- Why a request could not be made. A script may catch the error, so it is told with the next one.
local stuck

-- Ends the load.
local function fail(...)
  local message = stuck or string.format(...)
  while true do wait(FAIL, nil, nil, message) end
end

-- A message with the traceback of the script's calls, without those of this program.
local function traced(message)
  local text = debug.traceback(message, 3)
  text = text:gsub("\n\t%[C%]: in function 'raw_x?pcall'(\n\tsysbench:)", "%1")
  return (text:gsub("\n\tsysbench:[^\n]*", ""))
end

-- Whether the user can wait: a coroutine of the script's own would get the request, and functions
-- that C code calls, such as handlers of errors, cannot be suspended.
function core.can_wait()
  return is_blocking or running() == current_thread and is_yieldable()
end

-- Makes a request of the current user. Returns true and results, or false and what failed.
local function ask(...)
  if core.is_dry then return true, 0, 0 end
  core.execute()
  local user, thread = current, current_thread
  if not core.can_wait() then
    stuck = traced("cannot suspend: the script waits where it must not be interrupted")
    error(stuck, 0)
  end
  if stuck then fail() end
  local ok, first, second, third, fourth, fifth = wait(...)
  current, current_thread, core.failed = user, thread, false
  return ok, first, second, third, fourth, fifth
end
-- LuaJIT would compile code that waits into many short traces, one for each path to it.
jit.off(ask)

-- Waits for the next transaction: true, the name of a command, or nil if the load has none.
local function await(request) current.wanted = select(2, ask(request)) end

local function pause(seconds)
  ask(PAUSE, tonumber(seconds))
  return 0
end

-- A script can tell when its statements are executed by the errors that it catches, by what it
-- prints, and by clocks, so these come after them, unless the user cannot wait.
local raw_pcall, raw_xpcall = pcall, xpcall
local function executed(handler, ok, ...)
  local is_executed, err = raw_xpcall(core.execute, handler, true)
  if not is_executed then return false, err end
  return ok, ...
end

function xpcall(f, handler, ...)
  core.execute(true)
  return executed(handler, raw_xpcall(f, handler, ...))
end

local function same(err) return err end
function pcall(f, ...)
  core.execute(true)
  return executed(same, raw_pcall(f, ...))
end

for name, clock in pairs({clock = os.clock, date = os.date, time = os.time}) do
  os[name] = function(...)
    core.execute(true)
    return clock(...)
  end
end

function print(...)
  core.execute(true)
  local texts = {...}
  for i = 1, select("#", ...) do texts[i] = tostring(texts[i]) end
  core.print(table.concat(texts, "\t") .. "\n")
end

local write = io.write
function io.write(...)
  core.execute(true)
  if io.output() ~= io.stdout then return write(...) end
  core.print(table.concat({...}))
  return true
end

-- Compiles a text once for all users: returns a function that makes closures of the same code.
local function factory(text, name)
  text = text:gsub("^#", "--#")
  local chunk, why = loadstring(text, name)
  if not chunk then return nil, why end
  return loadstring("return function(...) " .. text .. "\nend", name)
end

local factories = {}
function loadfile(path)
  if not factories[path] then
    local file, why = io.open(path, "rb")
    if not file then return nil, "cannot open " .. why end
    factories[path], why = factory(file:read("*a"), "@" .. path)
    file:close()
    if why then return nil, why end
  end
  return setfenv(factories[path](), current.env)
end

-- `assert` would add a position in this file to the message.
local function loaded_file(path)
  local chunk, why = loadfile(path)
  if not chunk then error(why, 0) end
  return chunk
end

function dofile(path) return loaded_file(path)() end

package.path = package.path .. settings.search_path
local standard_require = require
function require(name)
  local loaded = current.loaded
  local module = loaded[name] or current.sysbench[name:match("^sysbench%.(.+)")]
  if module ~= nil then return module end
  local path = package.searchpath(name, current.env.package.path)
  module = (path and loaded_file(path) or standard_require)(name)
  if module == nil then module = loaded[name] or true end
  loaded[name] = module
  return module
end

local function event_stop()
  current.runs = nil
  await(DONE)
end

local function more_events()
  -- A script need not say when an event ends.
  if current.runs then event_stop() end
  current.runs = current.wanted
  return current.wanted or false
end

-- Makes the fields of a table that users share the defaults of one of their own.
local heirs = {}
local function heir(own, common)
  heirs[common] = heirs[common] or {__index = common}
  return setmetatable(own, heirs[common])
end

-- Calls into the program itself are ours, and so are libc's pauses, which would hold up all users.
local C = {
  sb_more_events = more_events,
  sb_event_start = function() end,
  sb_event_stop = event_stop,
  sb_counter_inc = function(_, kind)
    core.count(tonumber(type(kind) == "string" and ffi.C[kind] or kind))
  end,
  sb_print_test_options = function() core.print(settings.help) end,
  usleep = function(us) return pause(tonumber(us) / 1e6) end,
  sleep = pause,
  nanosleep = function(length)
    return pause(tonumber(length.tv_sec) + tonumber(length.tv_nsec) / 1e9)
  end,
}
for _, clock in ipairs({"clock_gettime", "gettimeofday", "time"}) do
  C[clock] = function(...)
    core.execute(true)
    return ffi.C[clock](...)
  end
end
ffi.cdef[[
typedef enum { SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_TRX, SB_CNT_ERROR,
  SB_CNT_RECONNECT, SB_CNT_MAX, SB_CNT_EVENT = SB_CNT_TRX } sb_counter_type;
]]
local proxy, cdefs = heir({C = heir(C, ffi.C)}, ffi), {}
function proxy.cdef(text, ...)
  -- Each user of the state declares the same.
  if not cdefs[text] then ffi.cdef(text, ...) end
  cdefs[text] = true
end
package.loaded.ffi, _G.ffi = proxy, proxy

local rand = core.rand
function rand.uniform_uint64()
  return rand.uniform(0, 4294967295) * 4294967296ULL + rand.uniform(0, 4294967295)
end
for name, draw in pairs(rand) do C["sb_rand_" .. name] = draw end
function C.sb_rand_str(format, buffer) ffi.copy(buffer, rand.string(ffi.string(format))) end

local sysbench = {
  version = settings.version, version_string = "sysbench " .. settings.version,
  error = {NONE = 0, RESTART_EVENT = 1}, rand = rand,
}
local cmdline = {
  argv = settings.argv, command = settings.command, script_path = settings.name,
  PARALLEL_COMMAND = true,
  print_test_options = C.sb_print_test_options, read_cmdline_options = function() return true end,
}

local function new_user(tid)
  local own = {tid = tid, opt = {}, hooks = {}, cmdline = heir({}, cmdline)}
  local loaded = heir({sysbench = heir(own, sysbench)}, package.loaded)
  local env = heir({sysbench = own, thread_id = tid, test = settings.name}, _G)
  env._G, env.package = env, heir({path = package.path, loaded = loaded}, package)
  return {env = env, sysbench = own, loaded = loaded, lost = {}}
end

local script, mistake = factory(settings.text, "@" .. settings.name)

-- Loads the script for a new user. Only when its top level has run, there are options.
local function load(tid)
  local user = new_user(tid)
  local env, own = user.env, user.sysbench.cmdline
  current, current_thread = user, running()
  -- Also what the script loads from strings has the user's globals.
  setfenv(0, env)
  if not script then error(mistake, 0) end
  setfenv(script(), env)()
  heir(user.sysbench.opt, settings.options)
  -- All users declare the same.
  cmdline.options, own.options = cmdline.options or own.options, nil
  if cmdline.options then return user end
  for name, value in pairs(settings.options) do
    if type(env[name]) ~= "function" and name ~= "test" then env[name] = value end
  end
  return user
end

-- Adds the traceback to a mistake; a table is thrown by a statement.
local function told(err)
  local is_new = type(err) == "string" and not err:find("\nstack traceback:", 1, true)
  return is_new and traced(err) or err
end

-- Calls a function of the script, if there is one; an error ends the load.
local function call(name, f, tid)
  if not f then return end
  local ok, result = xpcall(f, told, tid)
  if ok then return result end
  local reason = type(result) == "table" and result.sql_errmsg or tostring(result)
  fail("`%s' function failed: %s", name, reason)
end

-- Prepares to run the event again after an error of which the settings or the script say so.
local function restart(user, err)
  if type(err) ~= "table" or err.errcode ~= sysbench.error.RESTART_EVENT then error(err, 0) end
  -- The load undoes the transaction only if the script has not gone on after the failure.
  if core.failed then ask(RESTART) end
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
  end
end

local function run_events(user, tid)
  local env = user.env
  if not env.event then fail("cannot find the event() function in %s", settings.name) end
  call("thread_init", env.thread_init, tid)
  await(READY)
  call("thread_run", env.thread_run or thread_run, tid)
  -- The script ends on its own account, with an event that does not count.
  if user.wanted then await(LAST) end
  call("thread_done", env.thread_done, tid)
  await(READY)
end

-- Prints a report by a hook; returns what went wrong.
local function report(user, wanted)
  local stat = {}
  for i = 2, #wanted do
    local name, number = wanted[i]:match("(.*)=(.*)")
    stat[name] = tonumber(number)
  end
  local ok, err = pcall(user.sysbench.hooks[wanted[1]], stat)
  return not ok and tostring(err) or nil
end

-- Calls the functions and commands that it is told to, one for each transaction, and hooks for
-- reports between them.
local function run_commands(user)
  await(READY)
  while true do
    local name = user.wanted
    if type(name) == "table" then
      user.wanted = select(2, ask(LAST, nil, nil, report(user, name)))
    else
      if name == "done" then core.finish_report() end
      local entry = (user.sysbench.cmdline.commands or {})[name]
      local result = call(name, entry and entry[1] or user.env[name])
      if entry and result == false then fail("`%s' function failed", name) end
      await(name and LAST or READY)
    end
  end
end

-- The function that is a user's life.
function core.life(tid, is_command)
  return function()
    local ok, user = pcall(load, tid)
    if not ok then fail("%s", tostring(user)) end
    return (is_command and run_commands or run_events)(user, tid)
  end
end

core.sysbench, core.cmdline, core.load, core.ask = sysbench, cmdline, load, ask
-- With a thread for each user, deferring statements saves nothing.
core.defers = not is_blocking
function core.user() return current end
