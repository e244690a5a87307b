/** Texts of others may hold credentials: what of them may be kept and shown. Every pattern is bounded, as texts are long and hostile. */

export const HIDDEN = '******'

/** Each with what stays of it. */
const CREDENTIALS: readonly (readonly [RegExp, string])[] = [
  // The user and the password of an address.
  [/(:\/\/)[^\s/@"']{1,1000}@/g, `$1${HIDDEN}@`],
  [/([?&](?:key|token|sig|signature|code)=)[^\s&"'#]+/gi, `$1${HIDDEN}`],
  [
    /\b((?:proxy-)?authorization["']?\s{0,20}[:=]\s{0,20}["']?)(?:\w+ {1,20})?[^\s"',;}]+/gi,
    `$1${HIDDEN}`,
  ],
  [
    /((?:api[-_]?key|access[-_]?key|token|secret|password)["']?\s{0,20}[:=]\s{0,20}["']?)[^\s"',;}&]{8,}/gi,
    `$1${HIDDEN}`,
  ],
  [/\b(bearer|basic) {1,20}(?=[\w.~+/=-]*[\d=])[\w.~+/=-]{8,}/gi, `$1 ${HIDDEN}`],
  // Keys as their makers mark them, and JSON web tokens.
  [/\b((?:sk|pk|rk|hf|gsk|gh[a-z]|xox[a-z]|glpat)[-_])[\w-]{8,}/g, `$1${HIDDEN}`],
  [/\b(AIza|AKIA|ASIA)[\w-]{12,}/g, `$1${HIDDEN}`],
  [/\beyJ[\w-]{8,}(?:\.[\w-]+){0,2}/g, HIDDEN],
]

/** The text without what is marked as a credential: in addresses and headers, by its name, or by how its maker begins it. */
export function withoutMarkedCredentials(text: string): string {
  return CREDENTIALS.reduce((shown, [pattern, kept]) => shown.replace(pattern, kept), text)
}
