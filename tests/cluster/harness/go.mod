module galen/cluster/harness

go 1.24.0
