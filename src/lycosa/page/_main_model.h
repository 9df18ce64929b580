/* Made by bench/main_text/train.py */
#define HINT_SLOTS 1024
#define GOOD_HINTS 0x70800180ull
#define BAD_HINTS 0x800fbe7full
static const char *const hint_names[] = {
    "comment comments commentlist disqus respond reply replies discussion",
    "related recommended recommendations recommend recommendation similar more suggested suggestions trending popular latest recent also",
    "nav navbar navigation menu submenu megamenu dropdown menubar menus",
    "cookie cookies consent gdpr ccpa privacy onetrust",
    "share sharing social follow addthis sharedaddy facebook twitter socials",
    "promo promotion ad ads advert advertisement advertising sponsor sponsored banner cta offer offers adsense dfp",
    "sidebar side aside widget widgets rail complementary secondary",
    "content contents body copy text rte richtext wysiwyg prose markdown",
    "article articlebody post posts story entry blog news single",
    "footer foot bottom colophon contentinfo copyright legal",
    "header head top topbar masthead toolbar",
    "breadcrumb breadcrumbs crumb crumbs",
    "pagination pager paging next prev previous pages",
    "tag tags category categories topic topics taxonomy",
    "meta byline author date time published posted timestamp info bio avatar",
    "newsletter subscribe subscription signup optin mailchimp",
    "modal popup overlay lightbox dialog drawer offcanvas toast tooltip",
    "search searchform filter filters facet facets sort refine",
    "login signin account register auth cart basket checkout minicart wishlist",
    "hidden hide visually sr reader skip invisible offscreen mobile collapsed",
    "product products sku shop",
    "price prices pricing",
    "review reviews rating ratings testimonial testimonials",
    "description desc summary excerpt intro lead abstract teaser subtitle",
    "title headline heading",
    "caption figure image images img media gallery photo video slider carousel slide swiper slick",
    "toc tableofcontents outline index",
    "card cards tile tiles grid list listing results result feed archive items item",
    "message msg thread forum postbody answer answers question quote signature",
    "doc docs documentation api chapter",
    "main primary maincontent",
    "language languages lang locale country region translate",
    "contact address phone email location map hours",
    "faq accordion tab tabs panel collapse toggle",
    "feature features service services benefits",
    "table spec specs specification specifications detail details attributes",
    "code highlight pre",
    "alert notice notification announcement warning",
    "profile user users member members team",
    "btn button buttons link links",
    "hero jumbotron",
    "section block row column col container wrapper wrap",
    "event events schedule calendar",
};
#define SUM_UNIT 4096
#define SCORE_RANGE 1
#define SCORE_STEP 1
static const unsigned char score_steps[] = {0,50,100};
#define MAIN_SCORE 50
#define MODEL_BIAS 0
#define MODEL_DEPTH 1
#define FIRST_TREES 1
#define MODEL_TREES 1
#define FIRST_COLUMNS 1
#define MODEL_COLUMNS 1
typedef struct { unsigned char column; signed char offset; unsigned char more; } Question;
static const unsigned char model_columns[] = {0};
static const Question questions[1][1] = {{{0,0,40}}};
static const short leaves[1][2] = {{-4096, 4096}};
