-- The test `oltp` of sysbench 0.4 and of its fork with several tables, and the scripts of 0.5.
local is_04 = sysbench.version < "0.5"
local name = test:match("[^/]*$"):gsub("%.lua$", "")
local C, PAD = ("-###########"):rep(10):sub(2), ("-###########"):rep(5):sub(2)
local LOCKED = {myisam = true, heap = true, memory = true, maria = true}

local POINT = "SELECT c FROM %s WHERE id=%d"
local RANGES = {
  {"simple", "SELECT c FROM %s WHERE id BETWEEN %d AND %d"},
  {"sum", "SELECT SUM(K) FROM %s WHERE id BETWEEN %d AND %d"},
  {"order", "SELECT c FROM %s WHERE id BETWEEN %d AND %d ORDER BY c"},
  {"distinct", "SELECT DISTINCT c FROM %s WHERE id BETWEEN %d AND %d ORDER BY c"},
}
local UPDATE_INDEX = "UPDATE %s SET k=k+1 WHERE id=%d"
local UPDATE_NON_INDEX = "UPDATE %s SET c='%s' WHERE id=%d"
local DELETE = "DELETE FROM %s WHERE id=%d"
local INSERT = is_04 and "INSERT INTO %s values(%d,%d,'%s','%s')"
  or "INSERT INTO %s (id, k, c, pad) VALUES (%s, %d, '%s', '%s')"
local REINSERT =
  "INSERT INTO %s values(%d,0,' ','aaaaaaaaaaffffffffffrrrrrrrrrreeeeeeeeeeyyyyyyyyyy')"
local OLD_ROW = "0,' ','qqqqqqqqqqwwwwwwwwwweeeeeeeeeerrrrrrrrrrtttttttttt'"

-- The tables of this user, what surrounds its transactions, and when it reconnects.
local own, begin, commit, mode
local prepared, drawn, used, uniques = {}, {}, 0, 0

local function is_given(option) return option and option ~= "" end
local function threads() return sysbench.opt.threads or num_threads end
local function tables() return is_04 and oltp_num_tables or oltp_tables_count end
local function engine()
  return is_given(mysql_table_type) and mysql_table_type or mysql_table_engine
end

local function table_of(number)
  if is_04 then return oltp_table_name .. (number > 1 and number - 1 or "") end
  return "sbtest" .. number
end

-- A transaction that is restarted has the same keys.
local function key()
  used = used + 1
  drawn[used] = drawn[used] or sb_rand(1, oltp_table_size)
  return drawn[used]
end

-- An id that no other user has, until all were used.
local function unique()
  local size, turn = oltp_table_size, thread_id + uniques * threads()
  uniques = uniques + 1
  -- In integers: the product may exceed 2^53.
  return tonumber(turn % size * 1ULL * (2147483647 % size) % size) + 1
end

local function connect()
  db_disconnect()
  db_connect()
  prepared = {}
  if is_04 then ffi.C.usleep(oltp_connect_delay) end
end

local function think()
  local least, most = oltp_user_delay_min, oltp_user_delay_max
  if most > least then least = least + sb_rnd() % (most - least) end
  if least > 0 then ffi.C.usleep(least) end
end

-- 0.4 writes these words in lower case.
local LOWER = {FROM = "from", WHERE = "where", BETWEEN = "between", AND = "and", ORDER = "order",
  BY = "by", SET = "set"}
local function prepare_once(t, statement)
  if not prepared[statement] then
    local text = statement:gsub("%u+", LOWER):gsub("'?%%[ds]'?", "?"):gsub("%?", t, 1)
    prepared[statement] = db_prepare(text)
  end
  return prepared[statement]
end

local function run(t, statement, ...)
  if not is_04 then return db_query(statement:format(t, ...)) end
  think()
  local once = prepare_once(t, statement)
  db_bind_param(once, {...})
  db_execute(once)
  if mode == "query" then connect() end
end

local function reads(t)
  for _ = 1, oltp_point_selects do run(t, POINT, key()) end
  if oltp_range_selects == false then return end
  for _, range in ipairs(RANGES) do
    for _ = 1, _G["oltp_" .. range[1] .. "_ranges"] do
      local start = key()
      if is_04 then start = math.max(1, math.min(start, oltp_table_size - oltp_range_size)) end
      run(t, range[2], start, start + oltp_range_size - 1)
    end
  end
end

local function writes(t)
  for _ = 1, oltp_index_updates do run(t, UPDATE_INDEX, key()) end
  for _ = 1, oltp_non_index_updates do run(t, UPDATE_NON_INDEX, sb_rand_str(C), key()) end
  -- The last statements keep their connection.
  if mode == "query" then mode = nil end
  for _ = 1, oltp_delete_inserts or 1 do
    local id = key()
    -- The fork leaves it out.
    if is_04 and tables() == 1 then run(t, UPDATE_INDEX, id) end
    run(t, DELETE, id)
    if is_04 then
      run(t, REINSERT, id)
    else
      run(t, INSERT, id, key(), sb_rand_str(C), sb_rand_str(PAD))
    end
  end
end

local function create(number)
  local t, is_pgsql = table_of(number), db_driver == "pgsql"
  local unsigned = is_pgsql and "" or " UNSIGNED"
  local id = "INTEGER" .. unsigned .. " NOT NULL"
  if oltp_auto_inc then id = is_pgsql and "SERIAL NOT NULL" or id .. " AUTO_INCREMENT" end
  local storage = ("/*! ENGINE = %s MAX_ROWS = %d */ %s"):format(engine(), myisam_max_rows,
    is_given(mysql_table_options) and mysql_table_options or mysql_create_options or "")
  print(("Creating table '%s'..."):format(t))
  db_query(("CREATE TABLE %s (id %s, k INTEGER%s DEFAULT '0' NOT NULL, "
    .. "c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, %s (id)) %s"):format(t,
    id, unsigned, oltp_secondary and "KEY xid" or "PRIMARY KEY", is_pgsql and "" or storage))
  local index = ("CREATE INDEX %s ON %s(k)"):format(is_04 and "k" or "k_" .. number, t)
  if is_04 then db_query(index) end
  local filling = is_04 and "Creating %d records in table '%s'..." or "Inserting %d records into '%s'"
  print(filling:format(oltp_table_size, t))
  db_bulk_insert_init(("INSERT INTO %s(%sk, c, pad) VALUES"):format(t, oltp_auto_inc and "" or "id, "))
  for i = 1, oltp_table_size do
    local row = is_04 and OLD_ROW or ("%d,'%s','%s'"):format(sb_rand(1, oltp_table_size),
      sb_rand_str(C), sb_rand_str(PAD))
    db_bulk_insert_next(("(%s%s)"):format(oltp_auto_inc and "" or i .. ",", row))
  end
  db_bulk_insert_done()
  if not is_04 and oltp_create_secondary then
    print(("Creating secondary indexes on '%s'..."):format(t))
    db_query(index)
  end
end

-- Events by the names of 0.5's scripts.
local events = {
  oltp = function(t)
    if begin then db_query(begin) end
    if not oltp_write_only then reads(t) end
    if not oltp_read_only then writes(t) end
    if commit then db_query(commit) end
  end,
  oltp_simple = function(t) run(t, POINT, key()) end,
  select = function(t) run(t, is_04 and "SELECT pad FROM %s WHERE id=%d" or POINT, key()) end,
  update_index = function(t) run(t, UPDATE_INDEX, key()) end,
  update_non_index = function(t) run(t, UPDATE_NON_INDEX, sb_rand_str(C), key()) end,
  delete = function(t) run(t, DELETE, is_04 and unique() or key()) end,
  insert = function(t)
    local next_id = db_driver == "pgsql" and "DEFAULT" or 0
    local id = oltp_auto_inc and next_id or unique()
    run(t, INSERT, id, key(), sb_rand_str(C), sb_rand_str(PAD))
  end,
  sp = function() run(oltp_sp_name, "CALL %s(%d,%d)", thread_id, threads()) end,
  parallel_prepare = function()
    for number = thread_id + 1, tables(), threads() do create(number) end
    return true
  end,
}

local OF_04 = {simple = "oltp_simple", complex = "oltp", update_key = "update_index",
  update_nokey = "update_non_index"}
local function event_name()
  if not is_04 then return name end
  local kind = oltp_test_mode == "nontrx" and oltp_nontrx_mode or oltp_test_mode
  return OF_04[kind] or kind
end

function init()
  if not events[event_name()] then error("Invalid OLTP test mode: " .. oltp_test_mode .. ".", 0) end
  if is_04 and event_name() == "insert" then
    for number = 1, tables() do db_query("TRUNCATE TABLE " .. table_of(number)) end
  end
end

function thread_init()
  connect()
  own = {}
  for number = 1, tables() do own[number] = table_of(number) end
  if is_04 then own = {own[thread_id % #own + 1]} end
  if mysql_engine_trx == "no" or (mysql_engine_trx ~= "yes" and LOCKED[engine()]) then
    local kind = is_04 and oltp_read_only and " READ" or " WRITE"
    begin, commit = "LOCK TABLES " .. table.concat(own, kind .. " ,") .. kind, "UNLOCK TABLES"
  elseif not oltp_skip_trx then
    begin, commit = "BEGIN", "COMMIT"
  end
end

function event()
  used, mode = 0, oltp_reconnect_mode
  if mode == "random" then mode = ({"session", "query", "transaction"})[sb_rand_uniform(1, 3)] end
  local result = events[event_name()](own[sb_rand_uniform(1, #own)])
  if mode == "transaction" or oltp_reconnect then connect() end
  drawn = {}
  return result
end

function prepare()
  for number = 1, tables() do create(number) end
end

function cleanup()
  for number = 1, tables() do
    print(("Dropping table '%s'..."):format(table_of(number)))
    db_query("DROP TABLE IF EXISTS " .. table_of(number))
  end
end
