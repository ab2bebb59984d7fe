import { answerOf } from "../connection/answers.js";
import { script } from "../connection/script.js";

/** Limit of topics, because peers can make names up, and each name costs Redis some hundred bytes, and an owner some 8 KB. */
export const mostTopics = 40_000;

/*
 * The sorted set of the topics that replicas want, by the time of their last mention on the clock of Redis. Other software
 * may write here too: times in the future are removed.
 */
const common = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function mention(key, topic, most)
  if redis.call('ZCARD', key) >= tonumber(most) and redis.call('ZSCORE', key, topic) == false then
    return false
  end
  redis.call('ZADD', key, string.format('%.0f', now), topic)
  return true
end
local function forget(key, ms)
  redis.call('ZREMRANGEBYSCORE', key, string.format('(%.0f', now + tonumber(ms)), '+inf')
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('(%.0f', now - tonumber(ms)))
end
`;

/** KEYS interest; ARGV TTL in ms, limit of topics, then the topics. */
export const mentionScript = script(
  `${common}
forget(KEYS[1], ARGV[1])
for i = 3, #ARGV do
  mention(KEYS[1], ARGV[i], ARGV[2])
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
`,
  answerOf.nothing,
);

/** KEYS interest, announcements, announced; ARGV TTL in ms, limit of topics, topic, request, length of the stream. */
export const askScript = script(
  `${common}
forget(KEYS[1], ARGV[1])
if not mention(KEYS[1], ARGV[3], ARGV[2]) then
  return
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
local number = redis.call('INCR', KEYS[3])
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], '*', 'topic', ARGV[3], 'asks', ARGV[4], 'number', number)
`,
  answerOf.nothing,
);

/** KEYS interest; ARGV TTL in ms, limit of topics. Returns the topics within their TTL. */
export const listScript = script(
  `${common}
forget(KEYS[1], ARGV[1])
local topics = {}
for _, topic in ipairs(redis.call('ZRANGE', KEYS[1], 0, tonumber(ARGV[2]) - 1)) do
  if #topic <= 400 then
    topics[#topics + 1] = topic
  end
end
return topics
`,
  answerOf.texts(mostTopics),
);
