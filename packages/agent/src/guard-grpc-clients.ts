import { guardGrpcClients } from "@bunting/rpc";

// For all clients of grpc-js, before the first of them connects.
guardGrpcClients();
