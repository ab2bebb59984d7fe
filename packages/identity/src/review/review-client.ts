import type { RestClient } from "@bunting/kube";

/** The part of the API client that reviews need. */
export type ReviewClient = Pick<RestClient, "raw">;
