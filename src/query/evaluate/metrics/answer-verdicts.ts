/** Whether the text of an answer is right, by its characters alone. */

/** Removes differences in writing only, like SQuAD's evaluation: case, punctuation, articles, space. */
export function normalizedAnswer(text: string): string {
  return withoutArticles(text.normalize('NFKC').toLowerCase().replace(PUNCTUATION, ''))
}

/** Unicode's punctuation, and the ASCII signs it counts as symbols. */
const PUNCTUATION = /[\p{P}$+<=>^`|~]/gu

function withoutArticles(text: string): string {
  return text
    .replace(/(?<![\p{L}\p{N}])(?:an?|the)(?![\p{L}\p{N}])/gu, ' ')
    .replace(/\s+/gu, ' ')
    .trim()
}

/** The whole answer equals an accepted one. */
export function isExactAnswer(answer: string, accepted: readonly string[]): boolean {
  const said = normalizedAnswer(answer)
  return accepted.some((one) => {
    const wanted = normalizedAnswer(one)
    // An answer of only signs or an article becomes empty.
    return wanted === '' ? answer.trim() === one.trim() : said === wanted
  })
}

/** One of the accepted answers appears in the text, as whole words. */
export function containsAnswer(answer: string, accepted: readonly string[]): boolean {
  // A sign joins the words around it, as in U.S., or separates them, as in 1989–1990.
  const said = [normalizedAnswer(answer), partedAnswer(answer)]
  return accepted.some((one) => {
    const wanted = [normalizedAnswer(one), partedAnswer(one)]
    if (wanted[0] === '') return answer.includes(one.trim()) && one.trim() !== ''
    return said.some((text, index) => holdsWords(text, wanted[index] ?? ''))
  })
}

function partedAnswer(text: string): string {
  return withoutArticles(text.normalize('NFKC').toLowerCase().replace(PUNCTUATION, ' '))
}

/** Scripts that put no space between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

function holdsWords(text: string, wanted: string): boolean {
  if (wanted === '') return false
  return UNSPACED.test(wanted) ? text.includes(wanted) : ` ${text} `.includes(` ${wanted} `)
}

/** An answer that finds nothing says so within this many characters. */
const OPENING_CHARS = 300

/**
 * How agents say they found nothing: the built-in one, and chat models in their most frequent languages. Other wordings are
 * not recognised.
 */
const NOT_FOUND = [
  // The built-in agent.
  /\bfound nothing relevant\b/,
  /\b(?:could|can|did|was|am|were|are|do|does)(?: not|n't|not| unable to| not able to)(?: be able to)? (?:find|found|locate|answer|determine|know|contain|mention|provide|specify|include|say|state)\b/,
  /\b(?:unable|not able) to (?:find|locate|answer|determine)\b/,
  /\b(?:is|are|was|were) (?:not|n't) (?:found|mentioned|specified|stated|contained|available|answered|given|covered)\b/,
  /\b(?:no|not any|not enough|insufficient) (?:relevant |specific |such |further |matching )?(?:information|answer|mention|data|results?|details?|documents?)\b/,
  /\b(?:nicht|nichts|keine?n?) (?:\p{L}+ )?(?:gefunden|finden|beantworten|informationen|angaben|antwort|erwähnt|enthalten)\b/u,
  /\b(?:aucune? (?:information|réponse|résultat|mention)|rien trouvé|n'ai pas (?:pu )?trouv|ne (?:trouve|peux|sais|contien\p{L}*|mentionn\p{L}*) pas)/u,
  /\b(?:no (?:he |se |hay |pude |puedo |encuentro|encontr|menciona)|ninguna (?:información|respuesta))/u,
  /\b(?:non (?:ho |è |posso |trovo|sono riuscit|ci sono informazioni)|nessuna (?:informazione|risposta))/u,
  /(?<!\p{L})(?:não (?:encontr|há|consegui|posso|foi|mencion)|nenhuma (?:informação|resposta))/u,
  /\b(?:niet (?:gevonden|vinden|vermeld|beantwoorden)|geen (?:informatie|antwoord))\b/,
  /(?<!\p{L})(?:nie (?:znal|mog|ma|zawier|podano)|brak (?:informacji|odpowiedzi))/u,
  /(?<!\p{L})(?:не (?:найден|нашел|нашёл|удалось|могу|указан|содерж|упомин)|нет (?:информации|ответа|данных))/u,
  /(?:没有(?:找到|提到|提及|相关|信息)|未(?:找到|提及|提供)|找不到|無法|无法(?:找到|回答|确定))/u,
  /(?:見つかり?ません|見つけることができません|記載(?:が|は)(?:ありません|ない)|情報(?:が|は)(?:ありません|ない)|わかりません)/u,
  /(?:찾을 수 없|찾지 못|정보가 없|언급되(?:어 있)?지 않|알 수 없)/u,
  /(?:لم (?:أجد|يتم العثور|أعثر)|لا (?:توجد|يوجد|أستطيع|يمكنني))/u,
] as const

/**
 * The text says that it found no answer.
 * @param phrases further ones that mean this, of the caller
 */
export function saysNotFound(answer: string, phrases: readonly string[] = []): boolean {
  const opening = answer
    .slice(0, OPENING_CHARS)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[’‘]/g, "'")
  if (opening.trim() === '') return true
  if (NOT_FOUND.some((pattern) => pattern.test(opening))) return true
  const text = answer.normalize('NFKC').toLowerCase()
  return phrases.some((phrase) => text.includes(phrase.normalize('NFKC').toLowerCase()))
}
