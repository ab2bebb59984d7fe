export { AccessToken, type OauthConfig } from "./http/access-token.js";
export {
  codeOf,
  fetchDocument,
  retryAfter,
  sendableValidator,
  type Fetched,
  type FetchOptions,
  type Remedies,
  type Validators,
} from "./http/fetch-document.js";
export { HttpClient, type ConnectionGuard } from "./http/http-client.js";
export { HttpFailure } from "./http/http-failure.js";
export { nextPollMs } from "./http/poll-schedule.js";
export { unpacked } from "./http/unpacked.js";
