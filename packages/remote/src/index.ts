export { merging, type MergedRemote, type Side, type Sides } from "./merge-remote.js";
export { failureOf } from "./remote-error.js";
export type {
  RemoteFailure,
  RemoteFlags,
  RemoteKind,
  RemoteReading,
  RemoteSurroundings,
} from "./remote-kind.js";
export { remoteKinds } from "./remote-kinds.js";
