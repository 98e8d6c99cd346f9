-- plain and abbreviated names side by side, no description: written for this, of no set
create table members (
    member_id integer primary key, full_name text, dob date, sex text, join_dt date, email_addr text, emerg_phone text,
    referral_src text
);
create table plans (plan_cd text primary key, plan_name text, monthly_fee real, min_term_mths integer, incl_pool integer);
create table subscription (
    subscr_id integer primary key, member_id integer references members (member_id), plan_cd text references plans (plan_cd),
    start_dt date, end_dt date, auto_renew_flg integer
);
create table pmt (
    pmt_id integer primary key, subscr_id integer references subscription (subscr_id), pmt_dt date, amt real, pmt_mthd text
);
create table trainers (
    trainer_id integer primary key, trainer_name text, hourly_rt real, spec text, certified_since date
);
create table class_session (
    session_id integer primary key, class_typ text, trainer_id integer references trainers (trainer_id), room_no text,
    start_ts datetime, dur_min integer, max_cap integer
);
create table bkg (
    bkg_id integer primary key, session_id integer references class_session (session_id),
    member_id integer references members (member_id), booked_at datetime, attended_flg integer, cancel_rsn text
);
create table body_msmt (
    member_id integer references members (member_id), msmt_dt date, wt_kg real, ht_cm real, body_fat_pct real, rest_hr integer
);
create table equip (
    equip_id integer primary key, equip_typ text, purch_dt date, purch_price real, last_svc_dt date, loc text
);
insert into plans values ('BAS', 'Basic', 19.9, 3, 0), ('FLX', 'Flexible', 34.9, 1, 0), ('ALL', 'All inclusive', 59.9, 12, 1);
insert into trainers values (1, 'Petra Novak', 45, 'yoga', '2014-06-01'), (2, 'Deniz Kaya', 52, 'weightlifting', '2019-02-11'),
    (3, 'Marco Bianchi', 40, 'spinning', '2017-10-30');
with recursive n (i) as (select 1 union all select i + 1 from n where i < 60)
insert into members select i, 'Member Number' || i, date('1960-01-01', (i * 200) || ' days'), case i % 2 when 0 then 'F' else 'M' end,
    date('2022-01-01', (i * 15) || ' days'), 'm' || i || '@example.org', '+44 20 7946 ' || (1000 + i),
    case i % 4 when 0 then 'friend' when 1 then 'flyer' when 2 then 'search engine' else 'radio' end from n;
with recursive n (i) as (select 1 union all select i + 1 from n where i < 70)
insert into subscription select i, 1 + i % 60, case i % 3 when 0 then 'BAS' when 1 then 'FLX' else 'ALL' end,
    date('2023-01-01', (i * 8) || ' days'), date('2024-06-01', (i * 8) || ' days'), i % 2 from n;
with recursive n (i) as (select 1 union all select i + 1 from n where i < 250)
insert into pmt select i, 1 + i % 70, date('2024-06-01', i || ' days'), 19.9 + i % 3 * 15,
    case i % 3 when 0 then 'cash' when 1 then 'card' else 'direct debit' end from n;
with recursive n (i) as (select 1 union all select i + 1 from n where i < 90)
insert into class_session select i, case i % 3 when 0 then 'yoga' when 1 then 'spinning' else 'pilates' end, 1 + i % 3,
    'R' || (1 + i % 4), date('2025-01-01', i || ' days') || ' 18:00', 30 + i % 3 * 15, 12 + i % 8 from n;
with recursive n (i) as (select 1 union all select i + 1 from n where i < 400)
insert into bkg select i, 1 + i % 90, 1 + i % 60, date('2024-12-20', (i % 100) || ' days') || ' 09:00', i % 6 > 0,
    case i % 12 when 0 then 'illness' when 6 then 'work' else null end from n;
with recursive n (i) as (select 1 union all select i + 1 from n where i < 120)
insert into body_msmt select 1 + i % 60, date('2024-01-01', (i * 3) || ' days'), 55 + i % 45, 155 + i % 40, 12 + i % 20, 52 + i % 40 from n;
with recursive n (i) as (select 1 union all select i + 1 from n where i < 25)
insert into equip select i, case i % 4 when 0 then 'treadmill' when 1 then 'rowing machine' when 2 then 'leg press' else 'bicycle' end,
    date('2018-01-01', (i * 60) || ' days'), 400 + i * 90, date('2024-03-01', (i * 20) || ' days'),
    case i % 2 when 0 then 'ground floor' else 'upstairs' end from n;
