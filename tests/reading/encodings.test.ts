import { describe, expect, test } from 'bun:test'
import { decodeText } from '../../src/reading/text-encoding.ts'
import { readTable } from './read-table.ts'

/** Short texts in base64, as encoded by Python's codecs. */
const SAMPLES: readonly (readonly [encoding: string, base64: string, text: string])[] = [
  [
    'cp1252',
    'TmFtZTtTdHJh32U7T3J0IE38bGxlcjtIYXVwdHN0cmHfZSA1O038bmNoZW4gSuRnZXI7S/ZuaWdzYWxs',
    `Name;Straße;Ort Müller;Hauptstraße 5;München Jäger;Königsall`,
  ],
  [
    'mac_roman',
    'TmFtZTtTdHJhp2U7T3J0IE2fbGxlcjtIYXVwdHN0cmGnZSA1O02fbmNoZW4gSopnZXI7S5puaWdzYWxs',
    `Name;Straße;Ort Müller;Hauptstraße 5;München Jäger;Königsall`,
  ],
  [
    'cp1252',
    'bm9tLHBy6W5vbSx2aWxsZSBMZWbodnJlLMlsb+9zZSxPcmzpYW5zIEZyYW7nb2lzLFpv6SxCZXNhbudv',
    `nom,prénom,ville Lefèvre,Éloïse,Orléans François,Zoé,Besanço`,
  ],
  [
    'cp1252',
    'bm9tYnJlLGNpdWRhZCBNdfFveixN4WxhZ2EgUGXxYSxMb2dyb/FvIFJvZHLtZ3VleixBIENvcnXxYQ==',
    `nombre,ciudad Muñoz,Málaga Peña,Logroño Rodríguez,A Coruña`,
  ],
  [
    'cp1250',
    'aW1p6ixtaWFzdG8go3VrYXN6LKPzZJ8gR3Jhv3luYSxHZGHxc2sgV29qY2llY2gsjHdp6nRhIEfzcmE=',
    `imię,miasto Łukasz,Łódź Grażyna,Gdańsk Wojciech,Święta Góra`,
  ],
  [
    'iso8859-2',
    'aW1p6ixtaWFzdG8go3VrYXN6LKPzZLwgR3Jhv3luYSxHZGHxc2sgV29qY2llY2gspndp6nRhIEfzcmE=',
    `imię,miasto Łukasz,Łódź Grażyna,Gdańsk Wojciech,Święta Góra`,
  ],
  [
    'cp1250',
    'am3pbm8sbexzdG8gSmn47SBEdm/44WssUGx6ZfIgjm9maWUsyGVza+kgQnVk7GpvdmljZSBMdWJvmixU',
    `jméno,město Jiří Dvořák,Plzeň Žofie,České Budějovice Luboš,T`,
  ],
  [
    'iso8859-2',
    'bul2LHbhcm9zIEtvduFjcyBHefV69SxHefVyIFN6+2NzIMFnbmVzLEjzZG1levV24XPhcmhlbHkgVPN0',
    `név,város Kovács Győző,Győr Szűcs Ágnes,Hódmezővásárhely Tót`,
  ],
  [
    'cp1254',
    'YWQs/mVoaXIgT/B1eizdc3RhbmJ1bCBBef5lLEVza2n+ZWhpciBJ/v1sLERpeWFyYmFr/XIgx2HwbGEs',
    `ad,şehir Oğuz,İstanbul Ayşe,Eskişehir Işıl,Diyarbakır Çağla,`,
  ],
  [
    'cp1257',
    'dmFyZGFzLG1pZXN0YXMg3nlkcvtu6yzQaWF1bGlhaSBKdW96YXMgwP51b2xhcyxQYW5lduv+eXMgy2Rl',
    `vardas,miestas Žydrūnė,Šiauliai Juozas Ąžuolas,Panevėžys Ėde`,
  ],
  [
    'cp1251',
    '6Oz/LOPu8O7kIMji4O0gz+Xy8O7iLMzu8eri4CDO6/zj4CDR5fDj5eXi4CzR4O3q8i3P5fLl8OHz8OM=',
    `имя,город Иван Петров,Москва Ольга Сергеева,Санкт-Петербург`,
  ],
  [
    'koi8-r',
    'yc3RLMfP0s/EIOnXwc4g8MXU0s/XLO3P08vXwSDvzNjHwSDzxdLHxcXXwSzzwc7L1C3wxdTF0sLV0sc=',
    `имя,город Иван Петров,Москва Ольга Сергеева,Санкт-Петербург`,
  ],
  [
    'cp866',
    'qKzvLKOu4K6kIIiioK0gj6Xi4K6iLIyu4aqioCCOq+yjoCCRpeCjpaWioCyRoK2q4i2PpeKl4KHj4KM=',
    `имя,город Иван Петров,Москва Ольга Сергеева,Санкт-Петербург`,
  ],
  [
    'koi8-u',
    'ps0n0SzNptPUzyC018fFzizryafXILfWwcss/sXSzqbHptcg78zFzsEs7NjXptc=',
    `ім'я,місто Євген,Київ Їжак,Чернігів Олена,Львів`,
  ],
  [
    'cp1253',
    '/O3v7OEs8Pzr5yDD6f7x4+/yINDh8OHk/PDv9evv8izB6N7t4SDF693t5yzI5fPz4evv7d/q5w==',
    `όνομα,πόλη Γιώργος Παπαδόπουλος,Αθήνα Ελένη,Θεσσαλονίκη`,
  ],
  [
    'cp1255',
    '+e0s8un4IOPl4yDr5O8s6fjl+ezp7SD5+OQg7OXpLPrsIODh6eE=',
    `שם,עיר דוד כהן,ירושלים שרה לוי,תל אביב`,
  ],
  [
    'cp1256',
    'x+HH0+Msx+Hjz+3kySDjzePPIMPN488sx+Hex+XRySDdx9jjySzP49Te',
    `الاسم,المدينة محمد أحمد,القاهرة فاطمة,دمشق`,
  ],
  [
    'cp874',
    'qtfozSzgwdfNpyDKwarSwiyhw9in4Le+wcvSuaTDIMrBy63UpyzgqtXCp+PLweg=',
    `ชื่อ,เมือง สมชาย,กรุงเทพมหานคร สมหญิง,เชียงใหม่`,
  ],
  [
    'shift_jis',
    'lryRTyyPWo+KLJT1jWwgjlKTY5G+mFksk4yLnpNzkOeR45Nji+Ysg2WDWINnIJfpltiJ1I5xLJHljeOVe5HljeOOcyyC5oLrgrWCrYKoiuiCooK1gtyCtw==',
    `名前,住所,備考 山田太郎,東京都千代田区,テスト 鈴木花子,大阪府大阪市,よろしくお願いします`,
  ],
  [
    'euc_jp',
    'zL7BsCy9u73qLMj3uc0gu7PFxMLAz7osxey1/sXUwOnC5cXEtugspcaluaXIIM7rzNqy1rvSLMLnuuXJ3MLnuuW71Cyk6KTtpLekr6SqtOqkpKS3pN6kuQ==',
    `名前,住所,備考 山田太郎,東京都千代田区,テスト 鈴木花子,大阪府大阪市,よろしくお願いします`,
  ],
  [
    'iso2022_jp',
    'GyRCTD5BMBsoQiwbJEI9Oz1qGyhCLBskQkh3OU0bKEIgGyRCOzNFREJATzobKEIsGyRCRWw1fkVUQGlCZUVENmgbKEIsGyRCJUYlOSVIGyhCIBskQk5rTFoyVjtSGyhCLBskQkJnOmVJXEJnOmU7VBsoQiwbJEIkaCRtJDckLyQqNGokJCQ3JF4kORsoQg==',
    `名前,住所,備考 山田太郎,東京都千代田区,テスト 鈴木花子,大阪府大阪市,よろしくお願いします`,
  ],
  [
    'gb18030',
    '0NXD+yyzx8rQLLG416Ig1cXOsCyxsb6pLNXiysfSu7j2suLK1CDN9be8LMnPuqMsztLDx73xzOzIpdGn0KMgwO7EyCy549bdLMr9vt0=',
    `姓名,城市,备注 张伟,北京,这是一个测试 王芳,上海,我们今天去学校 李娜,广州,数据`,
  ],
  [
    'big5',
    'qW2mVyyrsKWrLLPGtfkgs6+pyadnLKV4pV+lqyyzb6xPpECt07T6uNUgqkyn06n6LLCqtq+lqyyn2q3MpLWk0aVovseu1Q==',
    `姓名,城市,備註 陳怡君,台北市,這是一個測試 林志明,高雄市,我們今天去學校`,
  ],
  [
    'euc_kr',
    'wMy4pyy1tb3DLLrxsO0gsejDtrz2LLytv+/Gr7qwvcMsvsiz58fPvLy/5CDAzL+1yPEsus676rGkv6q9wyy53bCpvcC0z7TZ',
    `이름,도시,비고 김철수,서울특별시,안녕하세요 이영희,부산광역시,반갑습니다`,
  ],
]

describe('an encoding is found', () => {
  for (const [encoding, base64, text] of SAMPLES) {
    test(`${encoding}: ${text}`, () => {
      expect(decodeText(Buffer.from(base64, 'base64'), null)).toBe(text)
    })
  }
})

describe('a table says its encoding', () => {
  test('which all bytes decide', async () => {
    const rows = 'x,y\n'.repeat(200_000)
    const late = await readTable('t.csv', Buffer.from(`a,b\n${rows}Käse,Öl\n`, 'latin1'))
    expect(late.recognized.encoding).toBe('windows-1252')
    expect(late.rows.at(-1)).toEqual(['Käse', 'Öl'])
  })

  test('a few damaged letters do not change the detected encoding', async () => {
    const text = Buffer.from(`a\n${'Käse, Öl und Brötchen\n'.repeat(10)}`)
    const damaged = Buffer.concat([text, Buffer.from([0xe4]), Buffer.from(' Ende\n')])
    const found = await readTable('t.csv', damaged)
    expect(found.recognized.encoding).toBe('utf-8')
    expect(found.warnings).toContain('1 place is not valid utf-8: each became the sign U+FFFD')
  })

  test('or it is the one that the sender names', async () => {
    const bytes = Buffer.from('a,b\nK\xe4se,1\n', 'latin1')
    const found = await readTable('t.csv', bytes, { encoding: 'iso-8859-5' })
    expect(found.rows).toEqual([['Kфse', '1']])
    await expect(readTable('t.csv', bytes, { encoding: 'nonsense' })).rejects.toThrow(
      'There is no encoding called "nonsense"',
    )
  })

  test('UTF-16, with and without a mark, but not UTF-32', async () => {
    const text = 'name,n\nÄpfel,1\n北京,2\n'
    const wide = Buffer.from(text, 'utf16le')
    const marked = Buffer.concat([Buffer.from([0xff, 0xfe]), wide])
    for (const bytes of [wide, marked, Buffer.from(wide).swap16()]) {
      const found = await readTable('t.csv', bytes)
      expect(found.columns).toEqual(['name VARCHAR', 'n BIGINT'])
      expect(found.rows[1]).toEqual(['北京', '2'])
    }
    for (const bytes of [utf32(text), utf32(`\ufeff${text}`)]) {
      await expect(readTable('t.csv', bytes)).rejects.toThrow('content is binary')
    }
  })
})

function utf32(text: string): Uint8Array {
  const points = [...text].map((letter) => letter.codePointAt(0) ?? 0)
  return new Uint8Array(Uint32Array.from(points).buffer)
}
