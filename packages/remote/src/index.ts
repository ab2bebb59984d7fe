export { isLargeMerge, merging, type MergedRemote, type Side, type Sides } from "./merge-remote.js";
export type { RemoteFailure, RemoteKind, RemoteReading, RemoteSurroundings } from "./remote-kind.js";
export { remoteKinds } from "./remote-kinds.js";
export { RemoteFetch, type RemoteSink, type SecretsRead } from "./remote-fetch.js";
export { remoteFlags, remoteView, type RemoteReport, type RemoteView } from "./remote-view.js";
export type { RemoteEvent, RemoteState, RemoteStateName } from "./remote-state.js";
