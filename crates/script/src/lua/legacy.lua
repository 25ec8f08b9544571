-- The functions of sysbench 0.5, which are globals and share one connection for each user.
local core = ...
local rand = core.sysbench.rand

DB_ERROR_NONE, DB_ERROR_RESTART_TRANSACTION, DB_ERROR_FAILED = 0, 1, 2
mysql_table_engine, myisam_max_rows = "innodb", 1000000

local function connection()
  local user = core.user()
  if not user.connection then
    local driver = core.sysbench.sql.driver()
    user.connection = core.connect() or error("Failed to connect to the database", 3)
    user.env.db_driver = driver:name()
  end
  return user.connection
end

function db_connect() connection() end

function db_disconnect()
  local user = core.user()
  if user.connection then user.connection:disconnect() end
  user.connection = nil
end

function db_query(query)
  local ok, err = core.run(connection(), query)
  if not ok then error(type(err) == "table" and err or "db_query() failed", 2) end
end

function db_bulk_insert_init(head) connection():bulk_insert_init(head) end
for _, name in ipairs({"bulk_insert_next", "bulk_insert_done"}) do
  _G["db_" .. name] = function(...)
    local con = core.user().connection or error("Uninitialized database connection", 2)
    con[name](con, ...)
  end
end

function db_prepare(query) return connection():prepare(query) end

-- The table is kept: each execution sends what it holds then.
function db_bind_param(statement, values)
  if type(values) ~= "table" then error("table was expected", 2) end
  if #values == 0 then error("table is empty", 2) end
  for _, value in ipairs(values) do
    if type(value) ~= "number" and type(value) ~= "string" then
      error("Unsupported variable type: " .. type(value), 2)
    end
  end
  statement.params = values
end

function db_bind_result() end
function db_store_results() end
function db_execute(statement) return statement:execute() end
function db_free_results(result) result:free() end
function db_close(statement) statement:close() end

sb_rand, sb_rand_str = rand.default, rand.string
sb_rand_uniform, sb_rand_gaussian, sb_rand_special = rand.uniform, rand.gaussian, rand.special
function sb_rnd() return rand.uniform(0, 4294967295) end

function sb_rand_uniq(low, high)
  local number
  repeat number = rand.unique() until number >= (low or 0) and number <= (high or number)
  return number
end
