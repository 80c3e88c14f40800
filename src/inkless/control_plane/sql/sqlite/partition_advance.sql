UPDATE partitions SET high_watermark = ?, append_time_ms = ?, max_timestamp = ?, bytes = ? WHERE pid = ?
