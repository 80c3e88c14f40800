INSERT INTO coordinates
    (pid, base_offset, last_offset, object_id, position, size, max_timestamp, running_max, append_time_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
