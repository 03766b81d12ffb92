/**
 * Decodes the entity names of HTML 4 and the most common of HTML 5. Other names stay as they are. Only five
 * names may lack the semicolon, so `?a=1&copy=2` stays unchanged.
 */
export function decodeEntities(text: string): string {
	return text.includes("&") ? text.replace(REFERENCE, decodeReference) : text;
}

// The longest known name has 14 letters. The bounds keep a reference from matching a whole document.
const REFERENCE = /&(?:#[xX]([0-9a-fA-F]{1,16})|#([0-9]{1,16})|([A-Za-z][A-Za-z0-9]{1,31}));?/g;
const MAY_LACK_SEMICOLON = new Set(["amp", "lt", "gt", "quot", "nbsp"]);

function decodeReference(match: string, hex?: string, decimal?: string, name?: string): string {
	if (hex !== undefined) return characterOf(Number.parseInt(hex, 16));
	if (decimal !== undefined) return characterOf(Number.parseInt(decimal, 10));
	if (name === undefined) return match;
	const closed = match.endsWith(";");
	return closed || MAY_LACK_SEMICOLON.has(name) ? (NAMED.get(name) ?? match) : match;
}

/** The windows-1252 characters 0x80–0x9F. Pages write `&#150;` for a dash, and HTML decodes such references as windows-1252. */
export const WINDOWS_1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";

function characterOf(code: number): string {
	if (code >= 0x80 && code <= 0x9f) return WINDOWS_1252.charAt(code - 0x80);
	const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
	return isCharacter ? String.fromCodePoint(code) : "\ufffd";
}

const FROM_A0 =
	"nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 " +
	"acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde " +
	"Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute " +
	"Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde " +
	"auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute " +
	"ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml";

const OTHERS =
	'amp& lt< gt> quot" OEligŒ oeligœ ScaronŠ scaronš YumlŸ fnofƒ circˆ tilde˜ AlphaΑ BetaΒ ' +
	"GammaΓ DeltaΔ EpsilonΕ ZetaΖ EtaΗ ThetaΘ IotaΙ KappaΚ LambdaΛ MuΜ NuΝ XiΞ OmicronΟ PiΠ RhoΡ " +
	"SigmaΣ TauΤ UpsilonΥ PhiΦ ChiΧ PsiΨ OmegaΩ alphaα betaβ gammaγ deltaδ epsilonε zetaζ etaη " +
	"thetaθ iotaι kappaκ lambdaλ muμ nuν xiξ omicronο piπ rhoρ sigmafς sigmaσ tauτ upsilonυ phiφ " +
	"chiχ psiψ omegaω thetasymϑ upsihϒ pivϖ zwnj\u200c zwj\u200d lrm\u200e rlm\u200f ndash– " +
	"mdash— lsquo‘ rsquo’ sbquo‚ ldquo“ rdquo” bdquo„ dagger† Dagger‡ bull• hellip… permil‰ " +
	"prime′ Prime″ lsaquo‹ rsaquo› oline‾ frasl⁄ euro€ imageℑ weierp℘ realℜ trade™ alefsymℵ " +
	"larr← uarr↑ rarr→ darr↓ harr↔ crarr↵ lArr⇐ uArr⇑ rArr⇒ dArr⇓ hArr⇔ forall∀ part∂ exist∃ " +
	"empty∅ nabla∇ isin∈ notin∉ ni∋ prod∏ sum∑ minus− lowast∗ radic√ prop∝ infin∞ ang∠ and∧ or∨ " +
	"cap∩ cup∪ int∫ there4∴ sim∼ cong≅ asymp≈ ne≠ equiv≡ le≤ ge≥ sub⊂ sup⊃ nsub⊄ sube⊆ supe⊇ " +
	"oplus⊕ otimes⊗ perp⊥ sdot⋅ lceil⌈ rceil⌉ lfloor⌊ rfloor⌋ lang⟨ rang⟩ loz◊ spades♠ clubs♣ " +
	"hearts♥ diams♦ apos' excl! num# dollar$ percnt% lpar( rpar) ast* plus+ comma, period. sol/ " +
	"colon: semi; equals= quest? commat@ lsqb[ bsol\\ rsqb] Hat^ lowbar_ grave` lbrace{ rbrace} " +
	"lcub{ rcub} lbrack[ rbrack] vert| verbar| CcaronČ ccaronč EcaronĚ ecaroně RcaronŘ rcaronř " +
	"ZcaronŽ zcaronž AbreveĂ abreveă AogonĄ aogoną EogonĘ eogonę LstrokŁ lstrokł NacuteŃ nacuteń " +
	"SacuteŚ sacuteś ZacuteŹ zacuteź ZdotŻ zdotż GbreveĞ gbreveğ ScedilŞ scedilş Idotİ imathı " +
	"inodotı CacuteĆ cacuteć DstrokĐ dstrokđ AmacrĀ amacrā EmacrĒ emacrē ImacrĪ imacrī OmacrŌ " +
	"omacrō UmacrŪ umacrū OdblacŐ odblacő UringŮ uringů UdblacŰ udblacű horbar― bullet• mldr… " +
	"approx≈ leq≤ geq≥ check✓ cross✗ star☆ starf★ phone☎ male♂ female♀ copysr℗ numero№ half½ " +
	"centerdot· map↦ boxh─ boxv│ block█ squ□ cir○ nearr↗ searr↘ swarr↙ nwarr↖ ellℓ hbarℏ mp∓ pm± " +
	"setminus∖ subset⊂ supset⊃ subseteq⊆ supseteq⊇ in∈ emptyset∅ varnothing∅ rightarrow→ " +
	"leftarrow← Rightarrow⇒ Leftarrow⇐ iff⇔ langle⟨ rangle⟩";

const NAMED: ReadonlyMap<string, string> = new Map([
	...FROM_A0.split(" ").map((name, i) => [name, String.fromCharCode(0xa0 + i)] as const),
	...OTHERS.split(" ").map((entry) => {
		const [, name = "", character = ""] = /^([A-Za-z0-9]+)(.+)$/u.exec(entry) ?? [];
		return [name, character] as const;
	}),
	// Spaces of every width become a plain space. The names below keep their own character.
	...["ensp", "emsp", "emsp13", "emsp14", "numsp", "puncsp", "thinsp", "hairsp", "MediumSpace"].map(
		(name) => [name, " "] as const,
	),
	["Tab", "\t"],
	["NewLine", "\n"],
	["ZeroWidthSpace", "\u200b"],
	["NoBreak", "\u2060"],
]);
