INSERT INTO brokers (node_id, epoch, rack, endpoints, registered_ms)
VALUES (:node_id, 1 + (SELECT coalesce(max(epoch), 0) FROM brokers), :rack, :endpoints, :now_ms)
ON CONFLICT (node_id) DO UPDATE
SET epoch = excluded.epoch, rack = excluded.rack, endpoints = excluded.endpoints, registered_ms = excluded.registered_ms
RETURNING epoch
