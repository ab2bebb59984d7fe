/**
 * Not a test: a process for encoding-heap.test.ts. It takes the documents named on its command line one after the other as a proxy does that is fed by
 * another one: it looks whether the heap has room, reads, encodes and serves. Prints one line of JSON a document.
 */
import { documentHeapBytes, ReplicaDocument, type RefusedFlag } from "@bunting/protocol";
import { HeapRoom, heapLimitBytes, runInSlices, systemClock, usedHeapBytes } from "@bunting/runtime";
import { readFileSync } from "node:fs";
import { encodeSnapshot, prepareSnapshot } from "./encode-snapshot.js";
import type { SnapshotBytes } from "./snapshot-bytes.js";

export interface EncodingReport {
  readonly accepted: boolean;
  readonly documentBytes: number;
  readonly countedBytes: number;
  readonly heapUsedBytes: number;
  readonly heapLimitBytes: number;
}

const room = new HeapRoom(systemClock);
let served: SnapshotBytes | undefined;
for (const file of process.argv.slice(2)) {
  const bytes = readFileSync(file);
  const countedBytes = documentHeapBytes(bytes);
  const accepted = room.has(countedBytes);
  if (accepted) {
    const replica = await runInSlices(ReplicaDocument.parsing(bytes));
    // As of a remote flag provider: another proxy sends no flags that are refused.
    const refused: RefusedFlag[] = [];
    const document = await runInSlices(replica.normalising((flag) => refused.push(flag)));
    await prepareSnapshot(document);
    served = encodeSnapshot(document, served);
  }
  const report: EncodingReport = {
    accepted,
    documentBytes: bytes.length,
    countedBytes,
    heapUsedBytes: usedHeapBytes(),
    heapLimitBytes: heapLimitBytes(),
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}
