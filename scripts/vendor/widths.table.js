// Made by `make vendor` from the daemon's terminal; scripts/widths.py says what it is.
export const RUNS = `
AbiBAfBAeBjAegCAdCAdcDtrEehDkoEgDkcEbsDEDEbDEbDEcDcbFfDjEkDGDbtEuDpEDdwEgFDEfDbEbDEdDbgFDEDbdEbaDdmEkDcfEiDiEDxEdDEiDE
cDEeDbqEcDbzFbDeEiDbpExFEbfHDqIbkEHEDHcEhHdJHbDEgIhDbEbDtIhDEHbDqItDIgDIDcIdDbEDKHbEdDbHbDbHbJDiKDdIbDIDbEbDlIbDlEDbEb
HDcdEDHcEbDdEbDbEcDcEDbdEbDcEDkEbHDqItDIgDIbDIeDbEDHcEeDEbHDHbJDtEbDuIEfDEHbDqItDIgDIbDIeDbEDKEHEdDbHbDbHbJDeEdKDdIbDI
DbEbDmIDpEDcgKHEHbDcHcDHcEDiKDbnEHcEDpItDIpDbEDEcHdDEcDEcJDgEbDIcDgEbDbcEHbDcdEDHEKHKHbDEKbDKbEbDgKbDkEbDoHDlEbHbDqIbl
EbDKHbEdDHcDHcJFDhKDjEbDbcEHbDcrEDdKHbEcDEDHgKDrHbDciEDHEgDlEhDdtEDHEiDkEgDcuEbDbaEDEDEDdHbDbwEnHEeDEbDeEkDEbjDiEDceIb
qDbEdHEfDJEHbEbIDpIfHbEbIdEcIDcIbDgIcEdImEDHEbDfEIDnEDdtLdqMNctOdjDnkEcDbkjEcKDbbEbKDbcEbDbdEbDlIbzEbHEgHhEHbEiJEDiEDb
sEcGEDemEbDbhEDenEcHdEbHcDdHbEHfEcDikEbHbEDdIcaHEHEgDJDEDbEhHfEjDbEDbvEcmDoEdHDfIbDfIbgEKEeKEKHdEKPIhDbdEiDlEbHIbdHEdH
bEbKJEbIbDkIcDbnEHEbHcEHEcKbDbvHhEhHbEbDfvEcDEmHEgDdEDfEQbHEbDhpEclDucGRSGbDxGgDmTDlTDvGpDdrEbgDbwTDvTDdlTfDoTbDocUbDl
TVbDghTDyUdTcUTbUDdTcDhqTDiwTbDjTDiTDcfTbUbDTeDiTDbTDbUbDbTDdWDbTDTbDbTDcTDcTbVhTcDeTDTDeUlDkTbDbTDTbDTDrTDbTUDjVfDbTU
TdDTDTbDcTUDeTDbUbDdTbDkUbDeUbDbTDeUTDTDTUDtTUDeTbUbTUDTbWUDbUDdTDbUDbTbXbWbDTDbTDTDTDfTDcTDfUDjTbDoTDbTDdUDUDdUcDUDkT
bDbvUcDiTDnUDnUDohTbDruTcDsUbDbyUDdUDpsEcDfkEDdrEbfDcfVbDcpVzDVdkDlVifDzVcfEdYbUVlUVDbVdhDbEbVdwDeVbqDVbyGVbpDVdhDiVbv
DVbnDhVcsUVUVbrdyDcVccDqhEdDEjDbfEbDdbEbDklEDcEDdEDwHbEbHDdEDdeHbDbxHpEbDzErDmEDblEhDyEkHKDlLbcDcEcHDeIcDcIbjEHbEdHbEb
HbPDbeIeEDIiDjIeDbpEfHbEbHbEbDlEDhEHDrIpDIcDfIDEDIbDbvEDEcDbEbDeEbDEDbdIkHEbHbDeHJDhsIbaDhHbEHbEHbDHEDrZ0baZ0baZ0baZ0b
aZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ
0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0b
aZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ
0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0b
aZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ
0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0b
aZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ
0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0b
aZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ
0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0b
aZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ
0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0b
aZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ
0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baZ0baDlNwDdObwDmnbVtrDbdEDbciEn12VjDfEpVbiDVsDVdDfqGDVdrDciKbGDckVgDiGiDtvED
irEDfsEeDcmeIEcDEbDeEdIdDIcDIbcDbEcDdJDgiEbDwaEdDcmEeDmeEbDbdEeDbfEpDcrEkDbwEdDerHEHDcaEoDboEDbEbDjEcHDbsHcEdHbEbDbFDd
EDjFDbxEcIbjEeHEfJEDoIHbIDbqEDlEbHDbvHcEiHKDFbDeEdDHEDdnHcEcHbEKEbDfEDbEDgaEHcEhDuEbHbDccEbDKHEHdDbHbDbHbKDiKDjHbDbEgD
cEeDkIjDIDbIDIblDbKHbEfDKDbKDKcHDHbEKJFEDnEbDddHcEhHbEcHEDwEDdcKHbEfHEHbKHEbHEbDjaKHbEdDbHdEbHEbDbaEbDddHcEhHbEHEbDebE
HEHbEfKEDdwEHEDbEdHEeDjvHcEiHEbDhoIgDbIDbIhDIbDIxKHeDHbDbEbKJFHFHEDfkHcEdDbEbHdEDcHDbaIEjIbnEfHQEdDhJDhIEfHbEcIbnFfEmH
EJDehIDdgEHEcHEHDhqHEgDEfHEDddEvDHEgHEbHEbDerEfDcEDEbDEgFEDcnHeDEbDHbEHEDdjEIDjwEbHbDiEbFHImDIbhHbEeDcHbEKJDwEDhxsEDfE
oDqyxElHcEcDdrzEeDcgEgDvjNDcNdDspEDHccDgEdDcyVdEDkYbVeDiVkycDbjVbhDdqVekDmVbjdDnVbyDlkmVdDVgDVbDVlkDiVDbcVcDbVDnVeDgVp
fDdquEbDGdDgytEbtDbEwDslEbDchKbEcDcKfGhEhDbEgDbdEdDfrEcDkKcDhEbDbKDbfKbDevVdiDiVwDcmiEccDdEbxDhEDnEDvEeDEoDcahEgDEqDbE
gDEbDEeDdvEDgdEgDokEDciEdDtnEdDjtEbDjiEDbEDgEbDeEDsfEgDeeEgDcoeUDbm3dDdv3lDo3bDo3Dn43Dbk3jDehTbDlTbDn4Db4jDsV3cc5zV4U3
mVjUVtUVb4eU4cV3dVi3g4b3nVf3fx4mUc4eU4fU4dTDbTi4iT4cmU4dT4g64mUDbTbDTcDbTb4gU4dUc4sX6X4U64bXWbTb4eTlU4lU4cDbT4TDT4c7e4
hU4lU4iU4fU4xT4TX64bXd6cXb6b4bU4r6dX6n4c6U4c6c46c4g6464qU4f64eU4bU4gU4cU4kU4nU4dU4dUc4cUd4iU4Uc4TD4iU4dU4dUb4bpDkTb4dD
UxDgTbDbTWbTd6DlTDbTdDbWDd6bDm4TDbTDhTbDiTDeTcDlTcDhTcDbTDTDdTDfTDcTDfT4uU4bz6c4c6eDbv4gU4eU4cU4bU4cU4j64iU4dU46c4bUb4
U4c64eDeT6Tc4cDb4e3b4dTfDcTD4b3cTDbT4i3cDijVD3d4l3d4Dba3dDcd3hDj3fDbn3hDbd3bDl3dDb3nDi3bmDl64b64h6h4f64i6j4D6c4gD4bv64
ci6b46b464q6c46m4bhDdj3hDn3b4m3c4co6c4343c4r34m3c46k3eDjv3bnhDbVdsynDbVdsynDblhmfGbfEdrGexEjfGfilDkyuh
`;
export const TOGETHER = {begins: `
ABCA.D.AA.AE...FF..CGHIJHKL..MNOPH
`, widths: `
11112122122212222121111212
`, moves: `
----A-.H-FH-...Q-AA-----H--..---------A-.H-FH-...Q-AA-----H--AH---------M-.H-RN-...S-MT-----N--MN--------HADAHHFHEUVWQ
QAAGGHJJHKL..NNOPA----H-.H-QHEEK.Q-HH-----HKL..---------F-.HHFQ-...Q-AF-----Q--..---------N-.H-SN-...S-NX-----N--MN---
------H-.H-QH-...Q-HH-----H--..---------M-.H-RN-...S-MT-----N--MN----M----N-.H-SN-...S-NX-----N--MN----N----H-.H-QH-.K
LQ-HH-----H--..---------H-.H-QH-..LQ-HH-----H--..---------M-.H-RN-...S-MT-----N--..---------N-.H-SN-...S-NX-----N--..-
--------H-.H-QH-...Q-HH-----H--..--H------N-.H-SN-...S-NX-----N--..----N----Q-.HHQQ-...Q-HQ-----Q--..---------R-.HHRS-
...S-MY-----S--..---------S-.HHSS-...S-NZ-----S--..---------A-.H-FH-...Q-AAGG-JJH--..NN-P-----A-.H-FHEUV.Q-AA-----HKL.
.---------A-.H-FH-.VWQ-AA-----H--..---------A-.H-FH-..WQ-AA-----H--..---------H-.H-QH-...Q-HHGG-JJH--..NN-P-----F-.HHF
Q-...Q-AFGG-JJQ--..NN-P-----Q-.HHQQ-...Q-HQGG-JJQ--..NN-P-
`};
export const APART = {begins: `
AABA.A.AA.AC...AA..BDCACCCC..BDCCC
`, widths: `
1122
`, moves: `
----A-A--A--AAA--AA--------..---------B-B--B--BBB--BB--------BB---------C-C--C--CCC--CC--------..---------D-D--D--DDD-
-DD--------DD-----
`};
