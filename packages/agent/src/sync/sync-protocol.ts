/** The protocols of a grpc source, best first. */
export const syncProtocols = ["bunting.sync.v1", "flagd.sync.v1"] as const;

export type SyncProtocol = (typeof syncProtocols)[number];
