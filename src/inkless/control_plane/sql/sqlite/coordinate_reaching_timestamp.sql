SELECT c.base_offset, c.last_offset, o.key, o.size, c.position, c.size, c.max_timestamp, c.append_time_ms,
       c.log_append_time, c.real_offsets, c.inline
FROM coordinates c LEFT JOIN objects o ON o.object_id = c.object_id
WHERE c.pid = :pid AND c.base_offset >= :base_offset AND c.max_timestamp >= :timestamp
ORDER BY c.base_offset
LIMIT 1
