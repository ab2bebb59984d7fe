import type { SourceConfig } from "./source-config.js";

/** What a source takes of the heap beside its flags, in bytes, as measured with hundreds of them. A client of gRPC is most of it. */
const heapBytes: Readonly<Record<SourceConfig["provider"], number>> = {
  grpc: 50_000,
  remote: 60_000,
  http: 20_000,
  file: 20_000,
  dir: 20_000,
  kubernetes: 20_000,
  unsupported: 1_000,
};

export function sourcesHeapBytes(configs: readonly Pick<SourceConfig, "provider">[]): number {
  return configs.reduce((sum, { provider }) => sum + heapBytes[provider], 0);
}
