SELECT node_id, epoch, rack, endpoints FROM brokers ORDER BY node_id
