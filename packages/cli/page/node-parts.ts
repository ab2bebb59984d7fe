/**
 * The few parts of node that the linter uses, as a browser has them: scripts/generate-playground.ts puts this module in the place of node:buffer,
 * node:path, node:timers/promises and node:v8, and of the global Buffer.
 */

/** A text and its bytes. Readers of files take bytes, and make a text of them. */
export interface TextBytes extends Uint8Array {
  toString(): string;
}

export function textBytes(text: string): TextBytes {
  return Object.assign(new TextEncoder().encode(text), { toString: () => text });
}

export const Buffer = {
  from: textBytes,
  byteLength: (text: string): number => new TextEncoder().encode(text).length,
  alloc: (bytes: number): Uint8Array => new Uint8Array(bytes),
  allocUnsafe: (bytes: number): Uint8Array => new Uint8Array(bytes),
};

/** A text of a page is one. */
export const isUtf8 = (): boolean => true;

export function extname(path: string): string {
  return /[^/]\.[^./]*$/.test(path) ? path.slice(path.lastIndexOf(".")) : "";
}

export function basename(path: string, end = ""): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return end !== "" && name.endsWith(end) ? name.slice(0, -end.length) : name;
}

export function setImmediate(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** What a tab may take at least; nobody tells how much is left. */
export function getHeapStatistics(): { readonly heap_size_limit: number; readonly used_heap_size: number } {
  return { heap_size_limit: 1024 ** 3, used_heap_size: 0 };
}
