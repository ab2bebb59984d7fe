import { answerOf } from "../connection/answers.js";
import { script } from "../connection/script.js";

/**
 * KEYS announcements, announced, … of each shard. Returns, for each shard, the id and the number of its last
 * announcement: `0-0` without one, an empty id where one of the keys holds something else.
 */
export const tailsScript = script(
  `
local answers = {}
for i = 1, #KEYS / 2 do
  local last = redis.pcall('XREVRANGE', KEYS[2 * i - 1], '+', '-', 'COUNT', 1)
  local number = redis.pcall('GET', KEYS[2 * i]) or '0'
  local isOne = not last.err and type(number) == 'string' and #number <= 20
  answers[2 * i - 1] = not isOne and '' or last[1] and last[1][1] or '0-0'
  answers[2 * i] = isOne and number or '0'
end
return answers
`,
  answerOf.texts(512),
);
