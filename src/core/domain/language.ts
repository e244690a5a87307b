/** Languages whose words the keyword search can reduce to stems; `none` leaves words as they are. */
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

/** The language of that name, in any case. */
export function languageNamed(name: string): Language | undefined {
  const key = name.trim().toLowerCase()
  return LANGUAGES.find((language) => language === key)
}
