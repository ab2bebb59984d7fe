import type { RemoteSink } from "@bunting/remote";
import type { Clock } from "@bunting/runtime";
import type { SourceSink } from "../flag-source.js";

/** What a remote says, as a source reports it: with versions that count up, by the clock, so that they do across processes. */
export function remoteReports(sink: SourceSink, clock: Clock): RemoteSink {
  let lastVersion = 0;
  return {
    flags: () => sink.flags?.(),
    take: (document) => {
      lastVersion = Math.max(lastVersion + 1, Math.floor(clock.now()));
      const version = { noticedMs: clock.monotonicMs(), resourceVersion: String(lastVersion) };
      sink.report({ kind: "document", document, version });
    },
  };
}
