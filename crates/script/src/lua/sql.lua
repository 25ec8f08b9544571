-- The database: drivers, connections, statements, parameters and results.
local core = ...
local OPEN, CLOSE, RUN, FETCH, PREPARE, EXECUTE, FREE, PAUSE = 0, 1, 2, 3, 4, 5, 6, 7
-- As much as sysbench sends at once in a bulk insert.
local MAX_PACKET = 524288
-- The limit of deferred values, and the length from which a text is not deferred.
local MOST_VALUES, LONG_TEXT = 240, 4096
local PREPARED = "<prepared statement>"
local ask, sysbench, driver_name = core.ask, core.sysbench, core.settings.driver

local kinds = {NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6,
  TIME = 7, DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12}
local sql = {type = kinds, error = {NONE = 0, IGNORABLE = 1, FATAL = 2}}
sysbench.sql = sql

local function class(name)
  local methods = {__tostring = function() return name end}
  methods.__index = methods
  return methods
end
local Driver, Connection = class("<sql_driver>"), class("<sql_connection>")
local Statement, Param = class("<sql_statement>"), class("<sql_param>")
local Result = class("<sql_result>")
local driver = setmetatable({sname = driver_name, lname = driver_name}, Driver)
Connection.driver, Connection.error = driver, sql.error.NONE
Connection.sql_errno, Connection.sql_state, Connection.sql_errmsg = 0, "", ""

local function alert(text) core.print("ALERT: " .. text .. "\n") end
local function fatal(...) core.print("FATAL: " .. string.format(...) .. "\n") end

-- The number of an open connection. As below, an error has the place of the script.
local function opened(con)
  if con.number then return con.number end
  alert("attempt to use an already closed connection")
  error("SQL API error", 3)
end

-- What a failed statement throws, with its text if the database told it.
local function failure(con, query, errno, state, message, is_ignorable, text)
  local err = {connection = con, query = query, sql_errno = errno, sql_state = state,
    sql_errmsg = message, errcode = sysbench.error.RESTART_EVENT}
  con.sql_errno, con.sql_state, con.sql_errmsg = errno, state, message
  con.error = is_ignorable and sql.error.IGNORABLE or sql.error.FATAL
  core.failed = is_ignorable
  if is_ignorable then return err end
  if driver_name == "pgsql" then
    fatal("PQexec() failed: 7 %s", message)
    fatal("failed query was: %s", text or query)
  else
    local call = query == PREPARED and "mysql_stmt_execute" or "mysql_drv_query"
    fatal("%s() returned error %d (%s) for query '%s'", call, errno, message, text or query)
  end
  local hook = core.user().sysbench.hooks.sql_error_ignorable
  return hook and hook(err) and err
    or ("SQL error, errno = %d, state = '%s': %s"):format(errno, state, message)
end

-- Returns the result of a statement. A connection has one, whose content each statement replaces.
local function settle(con, query, ok, first, second, third, fourth)
  if not ok then error(failure(con, query, first, second, third, fourth), 3) end
  local result = con.result
  result.nrows, result.nfields, result.is_valid = first, second, true
  return result
end

-- The statements that the user has deferred, all of one connection: for each its number, how many
-- values it has, and the values. They are executed before the script uses a result, catches an
-- error, or waits for something else.
local deferred, values, deferring = 0, {}, nil

-- Executes them; if that is optional, only where the user can wait. The error of a deferred
-- statement has no place, because the script has gone on; its text tells which one failed.
function core.execute(is_optional)
  if deferred == 0 or is_optional and not core.can_wait() then return end
  local con, count = deferring, deferred
  deferred, deferring = 0, nil
  local ok, first, second, third, fourth, text =
    ask(EXECUTE, con.number, nil, nil, unpack(values, 1, count))
  if not ok then
    error(failure(con, PREPARED, first, second, third, fourth, text), core.defers and 0 or 3)
  end
  con.result.nrows, con.result.nfields = first, second
end

-- Runs a statement without its rows; returns whether it succeeded, and the result or error.
function core.run(con, query)
  return pcall(settle, con, query, ask(RUN, opened(con), nil, query))
end

function sql.driver(name)
  if name and name ~= driver_name then error("failed to initialize the DB driver", 2) end
  -- Behind what scripts count themselves.
  core.count(6)
  return driver
end

function Driver:name() return driver_name end

-- Returns the number of what was opened, or nil after messages.
local function number_of(failed, what, ok, number, _, message)
  if ok then return number end
  fatal(failed, what)
  fatal("error %d: %s", number, message)
end

-- Opens a connection that the collector closes if the script does not.
function core.connect()
  local lost = core.user().lost
  while #lost > 0 do ask(CLOSE, table.remove(lost)) end
  local failed = "unable to connect to the database server, aborting..."
  local number = number_of(failed, nil, ask(OPEN))
  if not number then return nil end
  local con = setmetatable({number = number}, Connection)
  con.result = setmetatable({connection = con, nrows = 0, nfields = 0}, Result)
  con.anchor = ffi.gc(ffi.new("int[1]", number), function(anchor)
    if anchor[0] >= 0 then lost[#lost + 1] = anchor[0] end
  end)
  return con
end

function Driver:connect() return core.connect() or error("connection creation failed", 2) end

function Connection:disconnect()
  if not self.number then
    alert("attempt to close an already closed connection")
    return true
  end
  ask(CLOSE, self.number)
  self.number, self.anchor[0] = nil, -1
  return true
end

function Connection:reconnect()
  opened(self)
  self:disconnect()
  local ok, number, _, message = ask(OPEN)
  -- Without a number, the load is over.
  while not ok and number > 0 do
    ask(PAUSE, 0.001)
    ok, number, _, message = ask(OPEN)
  end
  if not ok then error(message, 2) end
  self.number, self.anchor[0] = number, number
  core.count(ffi.C.SB_CNT_RECONNECT)
  return true
end

function Connection:query(query)
  -- The parentheses prevent a tail call, which would lose the place of an error.
  return (settle(self, query, ask(FETCH, opened(self), nil, query)))
end

function Connection:query_row(query)
  local result = settle(self, query, ask(FETCH, opened(self), nil, query))
  local row = result:fetch_row()
  if row then return unpack(row, 1, result.nfields) end
end

function Connection:bulk_insert_init(head)
  self.head, self.rows, self.size = head, {}, #head
  return true
end

local function flush(con)
  local rows = con.rows
  if #rows == 0 then return true end
  con.rows, con.size = {}, #con.head
  return core.run(con, con.head .. table.concat(rows, ","))
end

function Connection:bulk_insert_next(row)
  local is_ok = self.head
  if not is_ok then
    alert("attempt to call bulk_insert_next() before bulk_insert_init()")
  elseif self.size + #row + 1 > MAX_PACKET then
    is_ok = flush(self)
  end
  if not is_ok then error("db_bulk_insert_next() failed", 2) end
  self.rows[#self.rows + 1], self.size = row, self.size + #row + 1
  return true
end

function Connection:bulk_insert_done()
  if self.head and not flush(self) then error("db_bulk_insert_done() failed", 2) end
  self.head = nil
  return true
end

function Connection:prepare(query)
  local number = number_of("cannot prepare '%s'", query, ask(PREPARE, opened(self), nil, query))
  if not number then error("SQL API error", 2) end
  return setmetatable({connection = self, number = number}, Statement)
end

-- A parameter is an array, which takes half the memory of fields: what fits, that is the length of
-- a text or whether a number may have a fraction, and the value.
function Statement:bind_create(kind, max_len)
  local fits = kind >= kinds.FLOAT
  if kind == kinds.CHAR or kind == kinds.VARCHAR then
    fits = tonumber(max_len) or error("no length", 2)
  elseif kind < kinds.TINYINT or kind > kinds.DOUBLE then
    error("Unsupported argument type: " .. kind, 2)
  end
  return setmetatable({fits}, Param)
end

-- A statement is also the array of its parameters, unless it has a table of them.
function Statement:bind_param(...)
  local n = select("#", ...)
  if n == 0 then return nil end
  for i = 1, math.max(n, #self) do self[i] = select(i, ...) end
  return 0
end

-- Parameters have the values that they have now. Those of the functions of 0.5 are the values.
function Statement:execute()
  local con, params, is_long = self.connection, self.params or self, not core.defers
  opened(con)
  local count = #params
  if con ~= deferring or deferred + count > MOST_VALUES then core.execute() end
  values[deferred + 1], values[deferred + 2] = self.number, count
  for i = 1, count do
    local value = params[i]
    if type(value) == "table" then value = value[2] end
    values[deferred + 2 + i] = value
    is_long = is_long or type(value) == "string" and #value > LONG_TEXT
  end
  deferring, deferred = con, deferred + 2 + count
  local result = con.result
  result.nrows, result.nfields, result.is_valid = nil, nil, true
  if is_long then core.execute() end
  return result
end

function Statement:close()
  if self.connection.number then ask(FREE, self.connection.number, self.number) end
  return 0
end

-- A whole number is sent as an integer, whatever the parameter's type.
function Param:set(value)
  local fits = self[1]
  if value ~= nil and type(fits) == "number" then
    value = tostring(value):sub(1, fits)
  elseif value ~= nil then
    value = tonumber(value) or error("a number was expected", 2)
    if value % 1 ~= 0 and not fits then value = value - math.fmod(value, 1) end
  end
  self[2] = value
end

function Param:set_rand_str(format) self:set(sysbench.rand.string(format)) end

function Result:fetch_row()
  core.execute()
  local number = self.connection.number
  return number and core.fetch(number)
end

function Result:free()
  if not self.is_valid then
    alert("attempt to free an invalid result set")
    error("db_free_results() failed", 2)
  end
  self.is_valid = false
  return true
end

-- What is not known before the deferred statements are executed.
function Result:__index(field)
  if field == "nrows" or field == "nfields" then
    core.execute()
    return rawget(self, field)
  end
  return Result[field]
end
