/**
 * Removes secrets from statements before they are shown. Patterns are bounded, because texts may be
 * long and hostile.
 */

const SECRET_NAME = String.raw`(?:(?:key|secret|token|passw|pasw|pwd|credential|authorization|cookie)[\w-]{0,40}["'\`]?|\bidentified\s{1,20}by)\s{0,20}`

/** `'password': 'x'`, `api_key = "x"`, `password: x`, and without a sign in between. */
const NAMED = new RegExp(
  String.raw`(${SECRET_NAME}[:=]?\s{0,20})('(?:[^']|'')*'|"(?:[^"\\]|\\.)*")|(${SECRET_NAME}:(?!:)\s{0,20})([^\s,'"(){}[\]]{1,2000})`,
  'gi',
)

/** Matches the user in `scheme://user:password@host`. */
const USER_OF_URL = /(:\/\/)[^\s'"/]{1,300}@/g

const PARAMETER_OF_URL =
  /([?&][\w-]{0,40}(?:key|token|secret|passw|pwd|signature)[\w-]{0,40}=)[^&\s'"]{1,2000}/gi

/** Replaces every secret, and the login in every address, by `******`. */
export function withoutSecrets(sql: string): string {
  return sql
    .replaceAll(NAMED, (_all, quoted: string | undefined, _text, bare: string | undefined) => {
      return quoted === undefined ? `${bare}******` : `${quoted}'******'`
    })
    .replaceAll(USER_OF_URL, '$1******@')
    .replaceAll(PARAMETER_OF_URL, '$1******')
}

/** Matches statements about users of other databases. */
const OF_USERS = String.raw`\b(?:create|alter)\s{1,20}(?:users?|role)\b|\bset\s{1,20}password\b`

const HOLDING = new RegExp(
  String.raw`${OF_USERS}|${SECRET_NAME}[:=]?\s{0,20}["']|${SECRET_NAME}:(?!:)|parameters["'\`]?\s{0,20}[=:]?\s{0,20}["'{]`,
  'i',
)

/** Errors then show only a position: a truncated secret would not be recognized. */
export function mayHoldSecrets(sql: string): boolean {
  return HOLDING.test(sql) || withoutSecrets(sql) !== sql
}
