export {
  CopyFile,
  copyFileSuffix,
  refusedSuffix,
  type CopyFileOptions,
  type DocumentCopy,
  type EncodedVersion,
} from "./copy/copy-file.js";
export { checkCopies } from "./copy/check-copies.js";
export { CopyWriter } from "./copy/copy-writer.js";
export { sweepCopies, temporarySuffix } from "./copy/sweep-copies.js";
export { UnusableCopyError } from "./copy/unusable-copy-error.js";
