export {
  CopyFile,
  copyFileSuffix,
  refusedSuffix,
  type DocumentCopy,
  type EncodedVersion,
} from "./copy/copy-file.js";
export { checkCopies } from "./copy/check-copies.js";
export { CopyWriter, FailedCopies } from "./copy/copy-writer.js";
export { sweepCopies } from "./copy/sweep-copies.js";
export { UnusableCopyError } from "./copy/unusable-copy-error.js";
