-- Holds one of 16 rows for 20 ms: what a server can do then hardly depends on the speed of its host.
\set row random(1, 16)
BEGIN;
SELECT id FROM held WHERE id = :row FOR UPDATE;
DO SLEEP(0.02);
COMMIT;
