-- Every statement on workers, by the names and places that SQLite's have.

-- name: put_worker
INSERT INTO workers AS known (
  project, id, run, process_pid, owner_started, lease_until, began, heartbeat, state, task, done, cost, said, machine
) VALUES (
  :project, ?1, ?2, ?3, ?4, extract(epoch FROM clock_timestamp())::float8 + (?5::float8 - :uptime), ?6, ?7, ?8, ?9, ?10,
  ?11, ?12, :machine
)
ON CONFLICT (project, id) DO UPDATE SET
  lease_until = excluded.lease_until, heartbeat = excluded.heartbeat, task = excluded.task, done = excluded.done,
  cost = excluded.cost, said = excluded.said,
  state = CASE WHEN known.state = 'stopping' AND excluded.state <> 'ended' THEN known.state ELSE excluded.state END

-- name: all_workers
SELECT id, run, process_pid, owner_started, :uptime + (lease_until - extract(epoch FROM clock_timestamp())::float8),
  began, heartbeat, state, task, done, cost, said, machine
FROM workers WHERE project = :project ORDER BY began, id

-- name: stop_worker
UPDATE workers SET state = 'stopping' WHERE project = :project AND id = ?1 AND state <> 'ended'

-- name: forget_workers
DELETE FROM workers WHERE project = :project AND state = 'ended' AND began < ?1

-- name: path_claims
SELECT task_id, path, first_line, last_line, symbol, content FROM path_claims
WHERE project = :project ORDER BY task_id, path, first_line

-- name: claim_path
INSERT INTO path_claims (project, task_id, path, first_line, last_line, symbol, content)
VALUES (:project, ?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT DO NOTHING

-- name: waits
SELECT task_id, waits_for, path, since FROM task_waits WHERE project = :project ORDER BY task_id, waits_for

-- name: insert_wait
INSERT INTO task_waits (project, task_id, waits_for, path, since) VALUES (:project, ?1, ?2, ?3, ?4)
ON CONFLICT (project, task_id, waits_for) DO UPDATE SET path = excluded.path

-- name: waits_of
SELECT waits_for FROM task_waits WHERE project = :project AND task_id = ?1

-- name: forget_wait
DELETE FROM task_waits WHERE project = :project AND task_id = ?1 AND waits_for = ?2

-- name: branches
SELECT task_id, branch, worktree, target, base, state, said, pushed, machine FROM task_branches WHERE project = :project

-- name: put_branch
INSERT INTO task_branches (project, task_id, branch, worktree, target, base, state, said, pushed, machine)
VALUES (:project, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, :machine)
ON CONFLICT (project, task_id) DO UPDATE SET branch = excluded.branch, worktree = excluded.worktree,
  target = excluded.target, base = excluded.base, state = excluded.state, said = excluded.said,
  pushed = excluded.pushed, machine = excluded.machine

-- name: drop_branch
DELETE FROM task_branches WHERE project = :project AND task_id = ?1

-- name: newest_number
SELECT fence FROM tasks WHERE project = :project AND id = ?1
