package gpstracks

import "strings"

// vocabulary is by which words people and programs name activities.
type vocabulary []struct {
	activity Activity
	weak     bool // the words mean something else beside another activity's
	words    []string
}

// activityWords are words in the languages of the regions, and those of exporters. A * at the
// end or the beginning of one stands for any letters.
func activityWords() vocabulary {
	return vocabulary{
		{Skiing, false, strings.Fields(`ski skis *skiing* skitour* *skitour* skitouring *snowboard* *langlauf* freeride лыж* ` +
			`backcountryski alpineski nordicski
			scialp* esqui* esquí* *滑雪* *スキー* *스키*`)},
		{Cycling, false, strings.Fields(`*bike* *biking* *bicycl* *cycling* cycle cycl* mtb ebike gravel gravelride virtualride velo* ` +
			`vélo* vtt btt *radtour* *radweg* *radreise* *radrunde*
			radfahren rad radl *rennrad* *fahrrad* *mountainbike* ciclis* ciclov* bici* fiets* cykel* cykling handcycl* eurovelo*
			вело* *骑行* *騎行* *自行车* *自行車* *单车* *サイクリング* *자전거*`)},
		{Cycling, true, strings.Fields(`ride rides`)},
		{Running, false, strings.Fields(`run runs runner *running* jog* *jogging* *trailrun* lauf ` +
			`laufen *waldlauf* *dauerlauf* *berglauf* marathon* *marathon* *halbmarathon* parkrun treadmill virtualrun
			corsa correr footing hardlop* løb* пробеж* бег *跑步* *ランニング* *マラソン* *달리기*`)},
		{Hiking, false, strings.Fields(`hike* hiking *hiking* walk* *walking* trek* trekking *wander* bergtour* *bergtour* hochtour* ` +
			`klettersteig* *spazier* snowshoe* *schneeschuh* randonn* escursion* camminata
			ciaspol* senderis* caminata* caminhada* *mountaineer* climb* wandel* fottur* ` +
			`vandring* поход* пеш* *徒步* *登山* *爬山* *远足* *遠足* *健走* *ハイキング* *散歩* *ウォーキング* *등산*`)},
		{Riding, false, strings.Fields(`horse* *horseback* equestrian reiten ausritt reittour* cheval caballo`)},
		{Boating, false, strings.Fields(`boat* sail* *sailing* kayak* kajak* kanu* canoe* rowing paddl* *paddling* segel* ferry* fähr* ` +
			`standuppaddling`)},
		{Driving, false, strings.Fields(`car drive driving *driving* *motorbike* *motorcycl* *motorrad* *motorsport* auto bus ` +
			`jeep* 4x4 offroad *自驾* *驾车* *ドライブ*`)},
	}
}
