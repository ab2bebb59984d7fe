import type { DocumentRoom } from "@bunting/runtime";

/** For tests that read only what they have written. */
export const unlimitedRoom: DocumentRoom = { has: () => true, freeBytes: Infinity };
