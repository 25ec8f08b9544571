-- The database: drivers, connections, statements, parameters and results.
local native, settings, core = ...
local OPEN, CLOSE, RUN, FETCH, PREPARE, EXECUTE, FREE, PAUSE = 0, 1, 2, 3, 4, 5, 6, 7
-- As much as sysbench sends at once in a bulk insert.
local MAX_PACKET = 524288
local PREPARED = "<prepared statement>"
local ask, sysbench, unpack = core.ask, core.sysbench, unpack

local kinds = {NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6,
  TIME = 7, DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12}
local sql = {type = kinds, error = {NONE = 0, IGNORABLE = 1, FATAL = 2}}
sysbench.sql = sql

local function class(name)
  local methods = {}
  return methods, {__index = methods, __tostring = function() return name end}
end
local Driver, driver_of = class("<sql_driver>")
local Connection, connection_of = class("<sql_connection>")
local Statement, statement_of = class("<sql_statement>")
local Param, param_of = class("<sql_param>")
local Result, result_of = class("<sql_result>")
local driver = setmetatable({sname = settings.driver, lname = settings.driver}, driver_of)
Connection.driver, Connection.error, Connection.sql_errno = driver, 0, 0
Connection.sql_state, Connection.sql_errmsg = "", ""

local function alert(text) native.print("ALERT: " .. text .. "\n") end
local function fatal(...) native.print("FATAL: " .. string.format(...) .. "\n") end

local function closed()
  alert("attempt to use an already closed connection")
  error("SQL API error", 3)
end

local function print_failure(query, errno, message)
  if settings.driver == "pgsql" then
    fatal("PQexec() failed: 7 %s", message)
    fatal("failed query was: %s", query)
  else
    local call = query == PREPARED and "mysql_stmt_execute" or "mysql_drv_query"
    fatal("%s() returned error %d (%s) for query '%s'", call, errno, message, query)
  end
end

-- What a failed statement throws.
local function failure(con, query, errno, state, message, is_ignorable)
  local err = {connection = con, query = query, sql_errno = errno, sql_state = state,
    sql_errmsg = message}
  con.sql_errno, con.sql_state, con.sql_errmsg = errno, state, message
  con.error = is_ignorable and sql.error.IGNORABLE or sql.error.FATAL
  local user = core.user()
  if is_ignorable then
    user.failed = true
  else
    print_failure(query, errno, message)
    local hook = user.sysbench.hooks.sql_error_ignorable
    if not (hook and hook(err)) then
      return ("SQL error, errno = %d, state = '%s': %s"):format(errno, state, message)
    end
  end
  err.errcode = sysbench.error.RESTART_EVENT
  return err
end

-- A connection has one result, whose content each statement replaces.
local function settle(con, query, ok, a, b, c, d)
  if not ok then return nil, failure(con, query, a, b, c, d) end
  local result = con.result
  result.nrows, result.nfields, result.is_valid = a and b or c, d, true
  return result
end

local function run(con, code, query)
  return settle(con, query, ask(code, con.number or closed(), query))
end

function sql.driver(name)
  if name and name ~= settings.driver then error("failed to initialize the DB driver", 2) end
  native.driver_created()
  return driver
end

function Driver:name() return settings.driver end

-- Opens a connection that the collector closes if the script does not.
local function connect()
  local user = core.user()
  local lost = user.lost
  while #lost > 0 do ask(CLOSE, table.remove(lost)) end
  local ok, number, _, message = ask(OPEN)
  if not ok then
    fatal("unable to connect to the database server, aborting...")
    fatal("error %d: %s", number, message)
    return nil
  end
  local con = setmetatable({number = number}, connection_of)
  con.result = setmetatable({connection = con, nrows = 0, nfields = 0}, result_of)
  con.anchor = ffi.gc(ffi.new("int[1]", number), function(anchor)
    if anchor[0] >= 0 then lost[#lost + 1] = anchor[0] end
  end)
  return con
end
core.connect = connect

function Driver:connect() return connect() or error("connection creation failed", 2) end

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
  ask(CLOSE, self.number or closed())
  local ok, number = ask(OPEN)
  while not ok do
    ask(PAUSE, 0.001)
    ok, number = ask(OPEN)
  end
  self.number, self.anchor[0] = number, number
  native.count(ffi.C.SB_CNT_RECONNECT)
  return true
end

function Connection:query(query)
  local result, err = run(self, FETCH, query)
  if not result then error(err, 2) end
  return result
end

-- Like `query`, without its rows; returns nil and the error instead of throwing it.
function core.execute(con, query) return run(con, RUN, query) end

function Connection:query_row(query)
  local result, err = run(self, FETCH, query)
  if not result then error(err, 2) end
  local row = native.fetch(self.number)
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
  return run(con, RUN, con.head .. table.concat(rows, ","))
end

function Connection:bulk_insert_next(row)
  local is_ok = self.head
  if not is_ok then
    alert("attempt to call bulk_insert_next() before bulk_insert_init()")
  elseif #self.head + #row > MAX_PACKET then
    alert(("Query length exceeds the maximum value (%d), aborting"):format(MAX_PACKET))
    is_ok = false
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
  local ok, number, _, message = ask(PREPARE, self.number or closed(), query)
  if not ok then
    fatal("cannot prepare '%s'", query)
    fatal("error %d: %s", number, message)
    error("SQL API error", 2)
  end
  return setmetatable({connection = self, number = number, n = 0}, statement_of)
end

function Statement:bind_create(kind, max_len)
  local is_text = kind == kinds.CHAR or kind == kinds.VARCHAR
  if not is_text and not (kind >= kinds.TINYINT and kind <= kinds.DOUBLE) then
    error("Unsupported argument type: " .. kind, 2)
  end
  return setmetatable({kind = kind, max_len = is_text and (max_len or error("no length", 2))},
    param_of)
end

-- The values are read when the statement is executed.
function Statement:bind_param(...)
  local n = select("#", ...)
  if n == 0 then return nil end
  self.params, self.values, self.n = {...}, {}, n
  return 0
end

function Statement:execute()
  local con, values, params = self.connection, self.values, self.params
  if params then
    for i = 1, self.n do values[i] = params[i].value end
  end
  local result, err = settle(con, PREPARED,
    ask(EXECUTE, con.number or closed(), self.number, unpack(values or {}, 1, self.n)))
  if not result then error(err, 2) end
  return result
end

function Statement:close()
  if self.connection.number then ask(FREE, self.connection.number, self.number) end
  return 0
end

-- A whole number is sent as an integer, whatever the parameter's type.
function Param:set(value)
  if value == nil then
    self.value = nil
  elseif self.max_len then
    self.value = tostring(value):sub(1, self.max_len)
  else
    value = tonumber(value) or error("a number was expected", 2)
    self.value = self.kind >= kinds.FLOAT and value or value - math.fmod(value, 1)
  end
end

function Param:set_rand_str(format) self:set(sysbench.rand.string(format)) end

function Result:fetch_row()
  local number = self.connection.number
  return number and native.fetch(number)
end

function Result:free()
  if not self.is_valid then
    alert("attempt to free an invalid result set")
    error("db_free_results() failed", 2)
  end
  self.is_valid = false
  return true
end
