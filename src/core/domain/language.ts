/** Languages for which keyword search reduces words to stems; `none` leaves words unchanged. */
export const LANGUAGES = [
  'arabic',
  'armenian',
  'basque',
  'catalan',
  'czech',
  'danish',
  'dutch',
  'english',
  'finnish',
  'french',
  'german',
  'hungarian',
  'irish',
  'italian',
  'none',
  'norwegian',
  'portuguese',
  'romanian',
  'russian',
  'slovene',
  'spanish',
  'swedish',
  'tamil',
  'turkish',
] as const

export type Language = (typeof LANGUAGES)[number]

export const DEFAULT_LANGUAGE: Language = 'english'

/** The language with this name, ignoring case. */
export function languageNamed(name: string): Language | undefined {
  const key = name.trim().toLowerCase()
  return LANGUAGES.find((language) => language === key)
}
