import { CodedError } from "@bunting/runtime";

/** The errors between a replica and Redis. */
export type BackplaneErrorCode =
  | "ADDRESS_INVALID" // the address of Redis does not have a form that is understood.
  | "OPTION_INVALID" // an option has a value that can't be used.
  | "FILE_UNREADABLE" // a file with credentials, certificates or keys can't be read or used.
  | "REDIS_AWAY" // there is no connection, or it ended before the answer; the command may have been executed.
  | "REDIS_TIMEOUT" // Redis did not answer in time; the command may have been executed.
  | "REDIS_DENIED" // Redis does not accept the user, the password, or a command of this user.
  | "REDIS_FULL" // Redis has no memory left, and refuses to write.
  | "REDIS_READ_ONLY" // what answers is a replica of Redis, not the one that may be written to; after a failover for instance.
  | "REDIS_NOT_READY" // Redis answers, but can't work for now: it loads its data, a script blocks it, or it can't write to its disk.
  | "REDIS_CLUSTERED" // what answers is Redis Cluster, where keys that belong together are on different nodes.
  | "REDIS_FAILED" // Redis refuses the command for another reason.
  | "FENCED" // the lease with this fencing number has ended or was taken over, and nothing was written.
  | "VERSION_OLDER" // Redis holds a newer version of the topic, and nothing was written.
  | "RECORD_TOO_LARGE" // a record is larger than records may be; it was not read, or not written.
  | "RECORD_MALFORMED" // a record can't be read: other software wrote it, or it is damaged.
  | "RECORD_UNVERIFIED" // a record is not signed with one of the keys.
  | "RECORD_FOREIGN" // a record is one of another topic.
  | "RECORD_NO_ROOM"; // the heap has no room for the document of a record, which was not parsed.

/** The only error of this package. */
export class BackplaneError extends CodedError<BackplaneErrorCode> {
  override readonly name = "BackplaneError";
  /** Free heap that another attempt needs, in bytes; of RECORD_NO_ROOM. */
  readonly neededBytes: number | undefined;

  constructor(
    code: BackplaneErrorCode,
    message: string,
    { neededBytes, ...options }: ErrorOptions & { readonly neededBytes?: number } = {},
  ) {
    super(code, message, options);
    this.neededBytes = neededBytes;
  }
}
