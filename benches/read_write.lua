-- The statements of sysbench's oltp_read_write, on the tables sbtest1 to sbtestN that it prepares.
sysbench.cmdline.options = {
  tables = {"Number of tables", 1},
  table_size = {"Rows of each table", 10000},
}

local RANGES = {
  "SELECT c FROM %s WHERE id BETWEEN ? AND ?",
  "SELECT SUM(k) FROM %s WHERE id BETWEEN ? AND ?",
  "SELECT c FROM %s WHERE id BETWEEN ? AND ? ORDER BY c",
  "SELECT DISTINCT c FROM %s WHERE id BETWEEN ? AND ? ORDER BY c",
}
local RANGE, POINTS = 100, 10
local C = string.rep("###########-", 9) .. "###########"
local PAD = string.rep("###########-", 4) .. "###########"
local types = sysbench.sql.type
local con, begin, commit, of_table

local function statement(table_name, text, ...)
  local made = {handle = con:prepare(text:format(table_name))}
  for number, kind in ipairs({...}) do
    made[number] = made.handle:bind_create(kind, kind == types.CHAR and 120 or nil)
  end
  if #made > 0 then made.handle:bind_param(unpack(made)) end
  return made
end

local function prepared(number)
  local name, made = "sbtest" .. number, {ranges = {}}
  made.point = statement(name, "SELECT c FROM %s WHERE id=?", types.INT)
  for i, text in ipairs(RANGES) do made.ranges[i] = statement(name, text, types.INT, types.INT) end
  made.index = statement(name, "UPDATE %s SET k=k+1 WHERE id=?", types.INT)
  made.non_index = statement(name, "UPDATE %s SET c=? WHERE id=?", types.CHAR, types.INT)
  made.delete = statement(name, "DELETE FROM %s WHERE id=?", types.INT)
  made.insert = statement(name, "INSERT INTO %s (id, k, c, pad) VALUES (?, ?, ?, ?)", types.INT, types.INT, types.CHAR, types.CHAR)
  return made
end

function thread_init()
  con = sysbench.sql.driver():connect()
  begin, commit = con:prepare("BEGIN"), con:prepare("COMMIT")
  of_table = {}
  for number = 1, sysbench.opt.tables do of_table[number] = prepared(number) end
end

local function any_table() return of_table[sysbench.rand.uniform(1, sysbench.opt.tables)] end

local function any_row() return sysbench.rand.default(1, sysbench.opt.table_size) end

function event()
  begin:execute()
  local point = any_table().point
  for _ = 1, POINTS do
    point[1]:set(any_row())
    point.handle:execute()
  end
  for i = 1, #RANGES do
    local range, first = any_table().ranges[i], any_row()
    range[1]:set(first)
    range[2]:set(first + RANGE - 1)
    range.handle:execute()
  end
  local index = any_table().index
  index[1]:set(any_row())
  index.handle:execute()
  local non_index = any_table().non_index
  non_index[1]:set_rand_str(C)
  non_index[2]:set(any_row())
  non_index.handle:execute()
  local to, id = any_table(), any_row()
  to.delete[1]:set(id)
  to.delete.handle:execute()
  to.insert[1]:set(id)
  to.insert[2]:set(any_row())
  to.insert[3]:set_rand_str(C)
  to.insert[4]:set_rand_str(PAD)
  to.insert.handle:execute()
  commit:execute()
end
