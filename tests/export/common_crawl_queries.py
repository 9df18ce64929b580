"""What Common Crawl's example queries ask (github.com/commoncrawl/cc-index-table, the files in
src/sql/examples/cc-index), in our words, by the names of their files.

AS_THEY_ARE uses no more than theirs do: the same columns, table and functions, so that theirs run
too, with the name of another crawl. TRANSLATED are those that DuckDB says otherwise; docs/export.md
tells how. `{crawl}` is the crawl's name; limits are those of a small crawl.
"""

_ALL = "from \"ccindex\".\"ccindex\" where crawl = '{crawl}' and subset = 'warc'"
_SITES = 'create or replace table "ccindex"."alexa_top_1m" as select 3 as rank, {}; '
_HOME = """(length(cc.url_host_name) = length(cc.url_host_registered_domain)
    or (length(cc.url_host_name) = length(cc.url_host_registered_domain) + 4
        and substr(cc.url_host_name, 1, 4) = 'www.'))"""
_LIKELIHOOD = """
create or replace view pairs as
with counted as (
    select count(*) as n, {column} as one, content_languages as language,
        sum(count(*)) over () as total,
        sum(count(*)) over (partition by {column}) as n_one,
        sum(count(*)) over (partition by content_languages) as n_language
    {all} group by {column}, content_languages)
select one, language, n, n / cast(n_language as double) as p_one, n / cast(n_one as double) as p,
    2 * (ln(n / (n_one * n_language / cast(total as double)))
        + if(n_one = n, 0,
             ln((n_one - n) / (n_one * (total - n_language) / cast(total as double))))
        + if(n_language = n, 0,
             ln((n_language - n) / (n_language * (total - n_one) / cast(total as double))))
        + if(total + n = n_language + n_one, 0,
             ln((total - n_language - n_one + n) / (cast(total - n_one as double)
                * (total - n_language) / cast(total as double))))) as loglikelihood
from counted;
select one, language, n, loglikelihood, p, p_one from pairs
where n >= 1 and not language like '%,%' and one is not null order by language, n desc"""
_RECORDS = "select url, warc_filename, warc_record_offset, warc_record_length "

AS_THEY_ARE = {
    "average-warc-record-length-by-mime-type": "select count(*) as n, avg(warc_record_length),"
    " sum(warc_record_length), count(*) * 100.0 / sum(count(*)) over () as share,"
    " sum(warc_record_length) * 100.0 / sum(sum(warc_record_length)) over () as stored,"
    f" content_mime_detected {_ALL} group by content_mime_detected order by n desc",
    "compare-mime-type-http-vs-detected": "select count(*) as n, content_mime_type,"
    f" content_mime_detected {_ALL} group by content_mime_type, content_mime_detected",
    "correlation-language-charset": _LIKELIHOOD.replace("{column}", "content_charset").replace(
        "{all}", _ALL
    ),
    "count-by-partition": "select count(*) as n, crawl, subset"
    ' from "ccindex"."ccindex" group by crawl, subset',
    "count-by-tld-page-host-domain": "select count(*) as n, url_host_tld as tld,"
    " count(distinct url_host_name) as hosts, count(distinct url_host_registered_domain) as domains"
    f" {_ALL} group by url_host_tld order by n desc",
    "count-domains-alexa-top-1m": _SITES.format("'example.org' as site")
    + 'select top.site, top.rank, count(*) as n from "ccindex"."ccindex" as cc'
    ' join "ccindex"."alexa_top_1m" as top on top.site = cc.url_host_registered_domain'
    " where cc.crawl = '{crawl}' group by top.site, top.rank order by top.rank",
    "count-domains-of-tld": f"select count(*) as count, url_host_registered_domain {_ALL}"
    " and url_host_tld = 'no' group by url_host_registered_domain having (count(*) >= 1)"
    " order by count desc",
    "count-fetch-status": "select count(*) as count, fetch_status"
    " from \"ccindex\".\"ccindex\" where crawl = '{crawl}' and subset = 'crawldiagnostics'"
    " group by fetch_status order by count desc",
    "count-language-tld": f"select count(*) as n, content_languages, url_host_tld {_ALL}"
    " and not content_languages like '%,%' group by content_languages, url_host_tld"
    " having count(*) >= 1 order by n desc",
    "count-robotstxt-url-paths": "select count(*) as count, URL_EXTRACT_PATH(url) as urlpath"
    " from \"ccindex\".\"ccindex\" where crawl = '{crawl}' and subset = 'warc'"
    " group by URL_EXTRACT_PATH(url) having (count(*) >= 1) order by count desc",
    "get-home-pages-languages": f"select url, content_languages {_ALL}"
    " and contains(ARRAY ['isl', 'cat', 'hun', 'eng', 'deu'], content_languages)"
    " and url_path = '/' and url_query is null",
    "get-records-for-language": f"{_RECORDS}{_ALL} and content_languages = 'isl'",
    "get-records-home-pages": _SITES.format("'example.org' as site")
    + "select top.site, top.rank, cc.url, cc.fetch_time, cc.warc_filename, cc.warc_record_offset,"
    ' cc.warc_record_length, cc.fetch_redirect from "ccindex"."ccindex" as cc right outer join'
    ' "ccindex"."alexa_top_1m" as top on top.site = cc.url_host_registered_domain'
    " where cc.crawl = '{crawl}' and cc.subset = 'warc'"
    r" and regexp_like(cc.url_path, '^/?(?:index\.(?:html?|php))?$') and cc.url_query is null"
    f" and {_HOME}",
    "get-records-of-domain": f"{_RECORDS}{_ALL} and url_host_registered_domain = 'example.org'"
    " limit 1000",
    "get-records-of-mime-type": f"{_RECORDS}, content_mime_type, content_mime_detected {_ALL}"
    " and (content_mime_detected = 'text/html' or content_mime_type like '%pdf%') limit 1000",
    "get-records-robotstxt": _SITES.format("'example.org' as site, 'example.org' as domain")
    + "with every as (select top.site, cc.url, cc.fetch_time, cc.fetch_status, cc.warc_filename,"
    " row_number() over (partition by cc.url order by cc.fetch_time desc) as n"
    ' from "ccindex"."ccindex" as cc right outer join "ccindex"."alexa_top_1m" as top'
    " on top.domain = cc.url_host_registered_domain where cc.crawl = '{crawl}'"
    f" and cc.subset = 'warc' and {_HOME}) select * from every where every.n = 1",
    "host_length_distrib": "with t as (select url_host_name as host,"
    f" cardinality(split(url_host_name, '.')) as length {_ALL})"
    " select count(*) as n, count(distinct host) as hosts, length from t"
    " group by length order by length asc",
    "loglikelihood-language-tld": _LIKELIHOOD.replace("{column}", "url_host_tld").replace(
        "{all}", _ALL
    ),
    "similar-domains": "select count(*) as n, count(distinct(url_host_name)) as hosts,"
    " levenshtein_distance('wikipedia', url_host_2nd_last_part) as distance, url_host_tld,"
    f" url_host_registered_domain {_ALL}"
    " and (levenshtein_distance('wikipedia', url_host_2nd_last_part) <= 2)"
    " group by url_host_tld, url_host_2nd_last_part, url_host_registered_domain order by n desc",
}

_TOP = """list_sort(map_entries(histogram(
    nullif(regexp_extract(content_languages, '^[a-z]{3}'), '')))) as languages"""
_BY_SITE = """
with sites as (
    select count(*) as pages, url_host_name,
        sum(count(*)) over (partition by url_host_registered_domain) as pages_of_domain,
        sum(case when content_languages like '{one}%' then 1 else 0 end) as in_it,
        sum(case when content_languages is null then 1 else 0 end) as not_known,
        {top}
    {all} group by url_host_tld, url_host_registered_domain, url_host_name)
select *, 100.0 * in_it / pages as share, list_slice(languages, 1, 10) as top from sites
where {test} order by in_it desc"""


def _by_site(one: str, test: str) -> str:
    text = _BY_SITE.replace("{one}", one).replace("{test}", test)
    return text.replace("{top}", _TOP).replace("{all}", _ALL)


TRANSLATED = {
    "count-hostname-elements": "select part, count(part) as n, histogram(place) as places"
    ' from "ccindex"."ccindex", unnest(list_reverse(split(url_host_name, \'.\')))'
    " with ordinality as t (part, place) where crawl = '{crawl}' and subset = 'warc'"
    " and url_host_tld = 'fr' group by part having count(part) >= 1 order by n desc",
    "count-idna": "select count(*) as n, url_host_registered_domain, url_host_name"
    ' from "ccindex"."ccindex" where crawl = \'{crawl}\''
    r" and regexp_like(url_host_name, 'xn--|[^\x00-\x7F]')"
    " group by url_host_registered_domain, url_host_name order by n desc",
    "count-url-path-elements": 'select part, count(part) as n from "ccindex"."ccindex",'
    " unnest(list_transform(list_filter(split(url_path, '/'), lambda w: w != ''),"
    " lambda w: url_decode(w))) as t (part) where crawl = '{crawl}' and subset = 'warc'"
    " and url_host_tld = 'fr' group by part having count(part) >= 1 order by n desc",
    "discovery-of-non-english-sites": _by_site("eng", "in_it < pages and pages >= 1"),
    "get-language-translations-url-path": "select url_host_registered_domain,"
    " count(distinct code) as languages, count(*) as n, histogram(code) as counts"
    ' from "ccindex"."ccindex", unnest(regexp_extract_all(url_path, \'/([a-z][a-z])/\', 1))'
    " as t (code) where crawl = '{crawl}' and subset = 'warc'"
    " and url_host_registry_suffix = 'va' group by url_host_registered_domain"
    " having count(*) >= 1 order by n desc",
    "random-sample-extract": f"{_RECORDS} from ccindex tablesample 50 percent (bernoulli)"
    " where subset = 'warc' and crawl = '{crawl}' and content_languages = 'eng'",
    "random-sample-urls": 'select url from "ccindex"."ccindex" tablesample 50 percent (bernoulli)'
    " where crawl = '{crawl}' and (subset = 'warc' or subset = 'crawldiagnostics')",
    "site-discovery-by-language": _by_site("cat", "in_it >= 1 and in_it / pages >= .05"),
    "site-discovery-hungarian": _by_site("hun", "in_it >= 1 and 1.0 * in_it / pages >= .1"),
}
