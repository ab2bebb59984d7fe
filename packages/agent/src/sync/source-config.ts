/** One source of flags, checked and complete. */
export type SourceConfig = GrpcSourceConfig | FileSourceConfig;

interface CommonConfig {
  /** The source's place in the list. This names it in memory: URIs need not differ from one source to the next. */
  readonly sourceIndex: number;
  /** As flagd names the source: without the prefix that told its kind. Flags carry it as their `source`. */
  readonly uri: string;
  /** Which flags of the source are wanted, in the source's own words; "" for all. */
  readonly selector: string;
}

/** A stream of flagd.sync.v1: our proxy, a stock flagd-proxy, or a flagd. */
export interface GrpcSourceConfig extends CommonConfig {
  readonly provider: "grpc";
  /** What grpc-js connects to. */
  readonly target: string;
  /** `:authority` of requests, where it is not the host. */
  readonly authority: string | undefined;
  readonly providerId: string;
  /** Sent with the request, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Largest message in bytes; undefined leaves it to the heap budget. */
  readonly maxMessageBytes: number | undefined;
}

/** A flag document on disk, JSON or YAML. */
export interface FileSourceConfig extends CommonConfig {
  readonly provider: "file";
  readonly path: string;
}
