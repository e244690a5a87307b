import { isUtf8 } from 'node:buffer'

/**
 * By mark, declared encoding, valid UTF-8, or what looks most like a language. Ends lines in `\n`.
 */
export function decodeText(bytes: Uint8Array, declared: string | null): string {
  const marked = markedEncoding(bytes)
  const encoding = marked ?? declaredEncoding(declared) ?? detectedEncoding(bytes, false)
  return new TextDecoder(encoding).decode(bytes).replaceAll('\r\n', '\n').toWellFormed()
}

export function markedEncoding([first, second, third, fourth]: Uint8Array): Bun.Encoding | null {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  // Two zeros after it would be UTF-32, which no decoder supports.
  const isLittle = first === 0xff && second === 0xfe && (third !== 0 || fourth !== 0)
  return isLittle ? 'utf-16le' : null
}

/** `TextDecoder`'s name; null if it has none, or for UTF-8, which is tried anyway. */
export function declaredEncoding(name: string | null): Bun.Encoding | null {
  if (name === null) return null
  try {
    // A decoder reports its canonical name.
    const encoding = new TextDecoder(name).encoding as Bun.Encoding
    return encoding === 'utf-8' ? null : encoding
  } catch {
    return null
  }
}

/** For bytes without a mark. @param isCut whether the last character may be incomplete */
export function detectedEncoding(bytes: Uint8Array, isCut: boolean): Bun.Encoding {
  const wide = wideEncoding(bytes)
  if (wide !== null) return wide
  if (isUtf8(isCut ? wholeUtf8(bytes) : bytes)) return hasIso2022Jp(bytes) ? 'iso-2022-jp' : 'utf-8'
  return guessedEncoding(bytes)
}

const SNIFFED_BYTES = 65_536

/** By its zero bytes; null if they are nowhere or everywhere. */
export function wideEncoding(bytes: Uint8Array): Bun.Encoding | null {
  const sample = bytes.subarray(0, Math.min(bytes.length, SNIFFED_BYTES) & ~1)
  if (sample.length < 4 || !sample.includes(0)) return null
  let [high, low] = [0, 0]
  for (let index = 0; index < sample.length; index += 2) {
    if (sample[index] === 0) high += 2 / sample.length
    if (sample[index + 1] === 0) low += 2 / sample.length
  }
  // In text without other ASCII characters, commas and line ends alone cause some zeros.
  if (low > 0.02 && high < low / 4) return plausible(sample, 'utf-16le')
  if (high > 0.02 && low < high / 4) return plausible(sample, 'utf-16be')
  return null
}

function plausible(sample: Uint8Array, encoding: Bun.Encoding): Bun.Encoding | null {
  const text = new TextDecoder(encoding).decode(sample.subarray(0, 8192), { stream: true })
  const odd = text.match(/[\p{Cc}\p{Co}\ufffd]/gu)?.filter((sign) => !/\s/.test(sign)).length ?? 0
  return odd <= text.length / 50 ? encoding : null
}

/** Removes an incomplete last character. */
export function wholeUtf8(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) return bytes
    if (byte >= 0xc0) {
      const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
      return size > back ? bytes.subarray(0, -back) : bytes
    }
  }
  return bytes
}

const ISO_2022_JP = /\p{Cc}\$[@B][!-~]+\p{Cc}\([BJ]/u

function hasIso2022Jp(bytes: Uint8Array): boolean {
  if (!bytes.includes(0x1b)) return false
  const text = new TextDecoder('latin1').decode(bytes.subarray(0, SNIFFED_BYTES))
  return ISO_2022_JP.test(text)
}

/** Tries every encoding in which the bytes are valid; the most language-like text wins. */

interface Language {
  /** Lower case beyond ASCII. For a separate script, frequent ones come before the space. */
  readonly letters: string
  readonly encodings: readonly Bun.Encoding[]
}

const WESTERN = ['windows-1252', 'macintosh', 'iso-8859-15'] as const
const CENTRAL = ['windows-1250', 'iso-8859-2'] as const
const BALTIC = ['windows-1257', 'iso-8859-13', 'iso-8859-4'] as const
const CYRILLIC = ['windows-1251', 'koi8-u', 'iso-8859-5', 'ibm866', 'x-mac-cyrillic'] as const

/** The order decides ties: the most common on the Web come first. */
const ALPHABETS: readonly Language[] = [
  { letters: 'äöüß', encodings: WESTERN },
  { letters: 'éèàçêâîôûùëïœ', encodings: WESTERN },
  { letters: 'áéíóúñü¿¡', encodings: WESTERN },
  { letters: 'ãçáéíóúâêôõà', encodings: WESTERN },
  { letters: 'àèéìòù', encodings: WESTERN },
  { letters: 'åäöéæø', encodings: WESTERN },
  { letters: 'éëïóöü', encodings: WESTERN },
  { letters: 'áðéíóúýþæö', encodings: WESTERN },
  { letters: 'àçéèíïóòúü·', encodings: WESTERN },
  { letters: 'ąćęłńóśźż', encodings: CENTRAL },
  { letters: 'áčďéěíňóřšťúůýž', encodings: CENTRAL },
  { letters: 'áäčďéíĺľňóôŕšťúýž', encodings: CENTRAL },
  { letters: 'áéíóöőúüű', encodings: CENTRAL },
  { letters: 'čćđšž', encodings: CENTRAL },
  { letters: 'ăâîșțşţ', encodings: CENTRAL },
  { letters: 'çğıöşüâîİ', encodings: ['windows-1254'] },
  { letters: 'āčēģīķļņšūž', encodings: BALTIC },
  { letters: 'ąčęėįšųūž', encodings: BALTIC },
  { letters: 'äõöüšž', encodings: BALTIC },
  { letters: 'оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё ', encodings: CYRILLIC },
  { letters: 'оаинвіерстклумдпязьбгчйхїжцшєюфґщ ', encodings: CYRILLIC },
  { letters: 'аоиеунрстјвкдпмлгзбшчцњжћхљђфџ ', encodings: ['windows-1251', 'iso-8859-5'] },
  { letters: 'αοιεντσρηκπλμυςγδάίόέωθήύώχφβξζψϊϋΐΰ ', encodings: ['windows-1253', 'iso-8859-7'] },
  { letters: 'יוהלארתבמשנםדקעפחכגסטזןץךף ', encodings: ['windows-1255', 'iso-8859-8'] },
  { letters: 'اليمنورتبعدسفكهحجقأةشصطخضذثزىئءإغظآؤ،؟ ', encodings: ['windows-1256', 'iso-8859-6'] },
  { letters: 'ากนรอเมงสลยดทวตคบปแ่้ัีิืุูไะหพจชขโำผใถศธณซญภฟ็์ึฉฐฝษฎฏฒฆฬฮฑฌฤๆ ', encodings: ['windows-874'] },
  { letters: 'ăâđêôơưáàảãạéèíìóòúùý\u0300\u0301\u0303\u0309\u0323', encodings: ['windows-1258'] },
]

const HAN_SIMPLIFIED =
  '的一是不了在人有我他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由却代军产入先山五太水万市眼体别处总才场师书比住员九笑性通目华报立马命张活难神数件安表原车白应路期叫死常提感金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台象记边共风战干接它许八特觉望直服毛林题建南度统色字请交爱让认算论百吃义科怎元社术结六功指思非流每青管夫连远资队跟带花快条院变联权往展该领传近留红治决周保达办运武半候七必城父强步完革深区即求品士转量空甚众技轻程告江语英基派满式李息写呢识极令黄德收脸钱党倒未持取设始版双历越史商千片容研像找友孩站广改议形委早房音火际则首单据导影失拿网香似斯专石若兵弟谁校读志飞观争究包组造落视济喜离虽坏兴切'
const HAN_TRADITIONAL =
  '的一是不了在人有我他這中大來上個國到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可她裡後小麼心多天而能好都然沒日於起還發成事只作當想看文無開手十用主行方又如前所本見經頭面公同三已老從動兩長知民樣現分將外但身些與高意進把法此實回二理美點月明其種聲全工己話兒者向情部正名定女問力機給等幾很業最間新什打便位因重被走電四第門相次東政海口使教西再平真聽世氣信北少關並內加化由卻代軍產入先山五太水萬市眼體別處總才場師書比住員九笑性通目華報立馬命張活難神數件安表原車白應路期叫死常提感金何更反合放做系計或司利受光王果親界及今京務制解各任至清物台象記邊共風戰幹接它許八特覺望直服毛林題建南度統色字請交愛讓認算論百吃義科怎元社術結六功指思非流每青管夫連遠資隊跟帶花快條院變聯權往展該領傳近留紅治決周保達辦運武半候七必城父強步完革深區即求品士轉量空甚眾技輕程告江語英基派滿式李息寫呢識極令黃德收臉錢黨倒未持取設始版雙歷越史商千片容研像找友孩站廣改議形委早房音火際則首單據導影失拿網香似斯專石若兵弟誰校讀志飛觀爭究包組造落視濟喜離雖壞興切臺灣灣縣號'
const HAN_JAPANESE =
  '日一国人年大十二本中長出三時行見月後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水半男西電校語土木聞食車何南万毎白天母火右読友左休父雨会同事自社発者地業方新場員立開手力問代明動京目通言理体田主題意不作用度強公持野以思家世多正安院心界教文元重近考画海売知道集別物使品計死特私始朝運終台広住真有口少町料工建空急止送切転研足究楽起着店病質待試族銀早映親験英医仕去味写字答夜音注帰古歌買悪図週室歩風紙黒花春赤青館屋色走秋夏習駅洋旅服夕借曜飲肉貸堂鳥飯勉冬昼茶弟牛魚兄犬妹姉漢都県市区村府郡州島民部内相定合回性的要当現全対実連最政議経市関法員表戦決取軍各次信氏面向報約原川治加格由利件期調引投説支第点記組数米価保変産総能果点番号株式資産税済済価額約協機経営成化島藤村松井佐伊加鈴渡斎橋林清森池石原阿福岡崎神奈川埼玉千葉愛媛'
const HANGUL =
  '이다는을의에가고하지를은로한기사자도으인대어시아그리서나들수있부제정만보해라전일것구원상주관적동공성장국여과비경스조유모게신년소세연우안없미선인면무교생실당분방개결물위치문학중요었각산심청울남북광역강박김최월화목금토권업법본계후체통외할민터명'

const MULTI_BYTE: readonly { encoding: Bun.Encoding; frequent: ReadonlySet<string> }[] = [
  { encoding: 'gb18030', frequent: new Set(HAN_SIMPLIFIED) },
  { encoding: 'shift_jis', frequent: new Set(HAN_JAPANESE) },
  { encoding: 'big5', frequent: new Set(HAN_TRADITIONAL) },
  { encoding: 'euc-kr', frequent: new Set(HANGUL) },
  { encoding: 'euc-jp', frequent: new Set(HAN_JAPANESE) },
]

/** A multi-byte encoding is rarely valid by chance, so a text with this score is accepted. */
const MULTI_BYTE_SCORE_MIN = 0.3
const DECODED_MAX = 65_536

/** @param bytes include some beyond ASCII, and may end anywhere */
export function guessedEncoding(bytes: Uint8Array): Bun.Encoding {
  const sample = nonAsciiParts(bytes)
  const multi = best(MULTI_BYTE.map((one) => [one.encoding, multiByteScore(sample, one)] as const))
  if (multi.score >= MULTI_BYTE_SCORE_MIN) return multi.encoding
  const scores: (readonly [Bun.Encoding, number])[] = []
  for (const { letters, encodings } of ALPHABETS) {
    for (const encoding of encodings)
      scores.push([encoding, alphabetScore(sample, encoding, letters)])
  }
  const single = best(scores)
  if (single.score <= 0) return 'windows-1252'
  // One table contains the other except for some letters.
  return single.encoding === 'koi8-u' && !hasUkrainian(sample) ? 'koi8-r' : single.encoding
}

function best(scores: readonly (readonly [Bun.Encoding, number])[]): {
  encoding: Bun.Encoding
  score: number
} {
  let found: { encoding: Bun.Encoding; score: number } = {
    encoding: 'windows-1252',
    score: -Infinity,
  }
  for (const [encoding, score] of scores) {
    if (score > found.score + 1e-9) found = { encoding, score }
  }
  return found
}

/** Only words with bytes beyond ASCII count. A line end is never part of a character. */
function nonAsciiParts(bytes: Uint8Array): Uint8Array {
  const kept = new Uint8Array(Math.min(bytes.length, DECODED_MAX))
  let size = 0
  let start = 0
  while (start < bytes.length && size < kept.length) {
    let end = start
    let isAscii = true
    while (end < bytes.length && bytes[end] !== 0x0a && bytes[end] !== 0x0d) {
      if ((bytes[end] ?? 0) >= 0x80) isAscii = false
      end += 1
    }
    if (!isAscii) {
      const line = bytes.subarray(start, Math.min(end + 1, start + kept.length - size))
      kept.set(line, size)
      size += line.length
    }
    start = end + 1
  }
  return kept.subarray(0, size)
}

/** Null if the bytes are not valid. */
function decodedStrictly(bytes: Uint8Array, encoding: Bun.Encoding): string | null {
  try {
    // Decoded as a stream, because the last character may be incomplete.
    return new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true })
  } catch {
    return null
  }
}

/**
 * From -1 to 1: how much the letters beyond ASCII look like a language written in this encoding.
 */
function multiByteScore(
  bytes: Uint8Array,
  { encoding, frequent }: { encoding: Bun.Encoding; frequent: ReadonlySet<string> },
): number {
  const text = decodedStrictly(bytes, encoding)
  if (text === null) return -1
  const isJapanese = encoding === 'shift_jis' || encoding === 'euc-jp'
  let count = 0
  let sum = 0
  for (let index = 0; index < text.length; index += 1) {
    const code = text.codePointAt(index) ?? 0
    const letter = String.fromCodePoint(code)
    if (code > 0xffff) index += 1
    if (code < 0x80) continue
    count += 1
    // Two letters of Western text form one of these, in the middle of a word.
    if (/[a-z]/.test(text.charAt(index - 1)) || /[a-z]/.test(text.charAt(index + 1))) sum -= 1
    if (frequent.has(letter)) sum += 1
    else if (code >= 0x3040 && code <= 0x30ff) sum += isJapanese ? 1 : -0.3
    else if (code >= 0xac00 && code <= 0xd7a3) sum += encoding === 'euc-kr' ? 0.5 : -0.5
    else if (code >= 0x4e00 && code <= 0x9fff) sum += encoding === 'euc-kr' ? 0 : 0.25
    else if ((code >= 0x3000 && code <= 0x303f) || (code >= 0xff01 && code <= 0xff5e)) sum += 0.4
    else sum -= 0.6
  }
  return count === 0 ? -1 : sum / count
}

const LETTER = /\p{L}|\p{M}/u
const QUOTES_AND_MONEY = new Set('€£°§«»“”‘’„–—…•™®©²³µ·ºª´№')

/** From -2 to 1: how much the letters beyond ASCII are those of one alphabet, in words. */
function alphabetScore(bytes: Uint8Array, encoding: Bun.Encoding, letters: string): number {
  const text = decodedStrictly(bytes, encoding)
  if (text === null) return -2
  const isScript = letters.endsWith(' ')
  const alphabet = new Map([...letters.trimEnd()].map((letter, index) => [letter, index]))
  let count = 0
  let sum = 0
  for (let index = 0; index < text.length; index += 1) {
    const letter = text.charAt(index)
    if (letter < '\x80') continue
    count += 1
    const before = text.charAt(index - 1)
    const place = alphabet.get(letter.toLowerCase()) ?? alphabet.get(letter)
    if (place !== undefined) sum += isScript && place >= 10 ? 0.8 : 1
    else if (LETTER.test(letter)) sum -= 0.5
    else if (QUOTES_AND_MONEY.has(letter)) sum += 0.3
    else sum -= 0.5
    // Penalize a symbol within a word, a capital after a small letter, and two scripts in one word.
    const isLetter = LETTER.test(letter)
    const isWithin = LETTER.test(before) && LETTER.test(text.charAt(index + 1))
    if (!isLetter && isWithin && letter !== '’' && letter !== '·') sum -= 1
    if (isLetter && isCapital(letter) && isSmall(before)) sum -= 1
    if (isScript && isLetter && /[a-z]/i.test(before)) sum -= 1
  }
  return count === 0 ? -2 : sum / count
}

function isCapital(letter: string): boolean {
  return letter !== letter.toLowerCase()
}

function isSmall(letter: string): boolean {
  return letter !== letter.toUpperCase()
}

function hasUkrainian(bytes: Uint8Array): boolean {
  return /[ґєії]/i.test(new TextDecoder('koi8-u').decode(bytes))
}
