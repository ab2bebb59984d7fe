import { guardGrpcClients } from "@bunting/sync-client/guard";

// For all clients of grpc-js, before the first of them connects.
guardGrpcClients();
