-- Every statement on workers, by name.

-- name: put_worker
INSERT INTO workers (
  id, run, process_pid, owner_started, lease_until, began, heartbeat, state, task, done, cost, said
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
  lease_until = excluded.lease_until, heartbeat = excluded.heartbeat, task = excluded.task, done = excluded.done,
  cost = excluded.cost, said = excluded.said,
  state = CASE WHEN state = 'stopping' AND excluded.state <> 'ended' THEN state ELSE excluded.state END

-- name: all_workers
SELECT id, run, process_pid, owner_started, lease_until, began, heartbeat, state, task, done, cost, said, ''
FROM workers ORDER BY began, id

-- name: stop_worker
UPDATE workers SET state = 'stopping' WHERE id = ? AND state <> 'ended'

-- name: forget_workers
DELETE FROM workers WHERE state = 'ended' AND began < ?

-- name: path_claims
SELECT task_id, path, first_line, last_line, symbol, content FROM path_claims ORDER BY task_id, path, first_line

-- name: claim_path
INSERT OR IGNORE INTO path_claims (task_id, path, first_line, last_line, symbol, content) VALUES (?, ?, ?, ?, ?, ?)

-- name: waits
SELECT task_id, waits_for, path, since FROM task_waits ORDER BY task_id, waits_for

-- name: insert_wait
INSERT INTO task_waits (task_id, waits_for, path, since) VALUES (?, ?, ?, ?)
ON CONFLICT (task_id, waits_for) DO UPDATE SET path = excluded.path

-- name: waits_of
SELECT waits_for FROM task_waits WHERE task_id = ?

-- name: forget_wait
DELETE FROM task_waits WHERE task_id = ? AND waits_for = ?

-- name: branches
SELECT task_id, branch, worktree, target, base, state, said, '', '' FROM task_branches

-- name: put_branch
INSERT INTO task_branches (task_id, branch, worktree, target, base, state, said) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (task_id) DO UPDATE SET branch = excluded.branch, worktree = excluded.worktree, target = excluded.target,
  base = excluded.base, state = excluded.state, said = excluded.said

-- name: drop_branch
DELETE FROM task_branches WHERE task_id = ?

-- name: newest_number
SELECT fence FROM tasks WHERE id = ?
