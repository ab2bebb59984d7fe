/** One source of flags, checked and complete. */
export type SourceConfig = GrpcSourceConfig | FileSourceConfig;

interface CommonConfig {
  /** The source's place in the list, which identifies it in memory: several sources may have the same URI. */
  readonly sourceIndex: number;
  /** The name that flagd gives the source: the URI without the prefix of its kind. Flags have it as their `source`. */
  readonly uri: string;
  /** Which flags of the source are wanted, in the source's own syntax; "" for all. */
  readonly selector: string;
}

/** A stream of flagd.sync.v1: our proxy, a stock flagd-proxy, or a flagd. */
export interface GrpcSourceConfig extends CommonConfig {
  readonly provider: "grpc";
  /** What grpc-js connects to. */
  readonly target: string;
  /** `:authority` of requests, if it is not the host. */
  readonly authority: string | undefined;
  readonly providerId: string;
  /** Sent with the request, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Largest message in bytes; undefined means the limit of the heap budget. */
  readonly maxMessageBytes: number | undefined;
}

/** A flag document on disk, JSON or YAML. */
export interface FileSourceConfig extends CommonConfig {
  readonly provider: "file";
  readonly path: string;
}
