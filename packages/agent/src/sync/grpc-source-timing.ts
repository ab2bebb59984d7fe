/** Times that tests shorten. */
export interface GrpcSourceTiming {
  /** Silence of a connection before a ping is sent. */
  readonly keepaliveMs: number;
  /** Time for the answer to a ping. */
  readonly keepaliveTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** Time without a document after which a stream of flagd.sync.v1 counts as answered: there is none. */
  readonly firstDocumentTimeoutMs: number;
  /** Interval between two reads of the token file. */
  readonly tokenIntervalMs: number;
  /** Time for the answer to a stream with a newer token. */
  readonly renewalTimeoutMs: number;
}

/** Of agents as they run. */
export const defaultTiming: GrpcSourceTiming = {
  keepaliveMs: 20_000,
  keepaliveTimeoutMs: 10_000,
  connectTimeoutMs: 10_000,
  firstDocumentTimeoutMs: 5_000,
  tokenIntervalMs: 2_000,
  renewalTimeoutMs: 10_000,
};
