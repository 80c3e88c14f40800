SELECT node_id, epoch, rack, endpoints FROM brokers WHERE node_id = ?
