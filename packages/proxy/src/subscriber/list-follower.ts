/** An agent that follows a list of FeatureFlags. */
export interface ListFollower {
  readonly address: string;
  /** Of the list that it says it has. */
  readonly digest: string;
}
