-- pgbench's tables. PostgreSQL's get their keys once they are loaded, MySQL would update a timestamp
-- with its row, and accounts need larger numbers at a large scale.
local driver = sysbench.sql.driver()
local is_pgsql = driver:name() == "pgsql"
local TABLES = {
  {"branches", "bid int not null, bbalance int, filler char(88)", "bid", 1, "(%d,0,null)"},
  {"tellers", "tid int not null, bid int, tbalance int, filler char(84)", "tid", 10, "(%d,%d,0,null)"},
  {"accounts", "aid int not null, bid int, abalance int, filler char(84)", "aid", 100000, "(%d,%d,0,'')"},
  {"history", "tid int, bid int, aid int, delta int, mtime timestamp, filler char(22)", nil, 0},
}

sysbench.cmdline.options = {scale = {"Number of branches", 1}}

function event() end

function cleanup()
  local con = driver:connect()
  for _, t in ipairs(TABLES) do con:query("drop table if exists pgbench_" .. t[1]) end
end

function prepare()
  local con, scale = driver:connect(), sysbench.opt.scale
  for _, t in ipairs(TABLES) do
    local name, columns, key, each, row = "pgbench_" .. t[1], unpack(t, 2, 5)
    if scale >= 20000 then columns = columns:gsub("aid int", "aid bigint") end
    if not is_pgsql then columns = columns:gsub("timestamp", "datetime") end
    local primary = key and ("primary key (%s)"):format(key)
    if key and not is_pgsql then columns = columns .. ", " .. primary end
    con:query(("create table %s (%s)"):format(name, columns))
    con:bulk_insert_init("insert into " .. name .. " values")
    for id = 1, each * scale do con:bulk_insert_next(row:format(id, math.ceil(id / each))) end
    con:bulk_insert_done()
    if key and is_pgsql then con:query(("alter table %s add %s"):format(name, primary)) end
  end
end
