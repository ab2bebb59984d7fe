import type { RestClient } from "@bunting/kube";

/** What reviews need of the API server. */
export type ReviewClient = Pick<RestClient, "raw">;
